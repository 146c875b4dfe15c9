"""The result of a run before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codemods.rewrites.refusals import Refusal

if TYPE_CHECKING:
    from codemods.program.patches import Seam
    from codemods.rewrites.leftovers import KeptImport


@dataclass(frozen=True, slots=True)
class HelperReport:
    """One helper in the result. ``status`` is lifted, refused, or kept where nobody asked for it."""

    name: str
    qualname: str
    path: str
    line: int
    status: str
    refusal: Refusal | None
    captures: tuple[str, ...] = ()
    target: str | None = None
    call_sites: int = 0


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it is in the tree (None: it is not there) and as it would be."""

    path: Path
    shown: str
    before: bytes | None
    after: bytes

    @property
    def changed(self) -> bool:
        """Tell whether writing it would change anything."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Overruled:
    """A helper, definition or loop that is changed because of an acceptance: the line that speaks against it,
    and why.
    """

    name: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class AcceptedAssumption:
    """An assumption that was accepted: its sentence, why the user says that it holds, and what it overruled.

    Where the acceptance was not needed nothing is ``overruled``.
    """

    code: str
    assumption: str
    reason: str
    overruled: tuple[Overruled, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run, before anything is written.

    ``sources`` are the files that something is taken out of, ``followers`` those that only refer to it;
    ``imports`` are those that stay though only what moved needed them;
    ``accepted`` are the assumptions that the user accepts.
    """

    helpers: tuple[HelperReport, ...]
    files: tuple[FileChange, ...]
    seams: tuple[Seam, ...] = ()
    sources: frozenset[Path] = frozenset()
    followers: frozenset[Path] = frozenset()
    imports: tuple[KeptImport, ...] = ()
    accepted: tuple[AcceptedAssumption, ...] = ()

    def in_order(self) -> dict[Path, bytes]:
        """Order the files to write so that every beginning leaves a program that does the same.

        New files first, which nobody imports yet; then those that gain something; then those that refer to
        it; last those that lose it.
        """

        def rank(change: FileChange) -> int:
            if change.path in self.sources:
                return 3
            return 2 if change.path in self.followers else int(change.before is not None)

        changed = sorted((change for change in self.files if change.changed), key=rank)
        return {change.path: change.after for change in changed}

    @property
    def refused(self) -> tuple[HelperReport, ...]:
        """Helpers that were asked for and are not lifted."""
        return tuple(helper for helper in self.helpers if helper.status == "refused")
