"""One kind of things that a process holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from ..trace.paths import Patterns


class Kind(ABC):
    """A kind: loaded in the program's process, so it imports torch and `golden.trace` alone.

    Things that two runs hold under one title are compared field by field. A golden keeps a digest for each
    title. What only one side holds is named as not compared.
    """

    def install(self) -> None:  # noqa: B027 - not every kind listens
        """Begin to listen, before the program's own code runs."""

    @abstractmethod
    def take(self, unstable: Patterns) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield the title of each thing that is held now, and its fields as text; not ``unstable`` ones."""
