"""The kinds of things that a process holds at its end or at every step, one module each, found by a walk.

A module has a class ``Observed``, a `Kind`. Records, goldens, comparisons and reports take any of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping

from ..trace.paths import Patterns

Titled = Iterable[tuple[str, Mapping[str, str]]]


class Kind:
    """A kind: loaded in the program's process, so it imports torch and `golden.trace` alone.

    Things that two runs hold under one title are compared field by field. A golden keeps a digest for each
    title. What only one side holds is named as not compared, and how many things were ``beyond`` those that
    a kind keeps. A class fills in what fits its kind.
    """

    beyond = 0

    def install(self) -> None:
        """Begin to listen, before the program's own code runs.

        A function that takes the place of one of torch's is called ``observed_...``, so that what is read
        to the host under it counts for the program.
        """

    def take(self, unstable: Patterns) -> Titled:
        """Return title and fields, as text, of each thing that is held at the end; no ``unstable`` field."""
        del unstable
        return ()

    def step(self, unstable: Patterns, *, last: bool) -> Titled:
        """Return the same of what is looked at at every step, and at the end, after the ``last`` one."""
        del unstable, last
        return ()


def kinds() -> list[Kind]:
    """Return one of each, by the name of its module."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}").Observed() for name in names]
