"""What a run found and made, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codemods.analysis.refusals import Refusal
from codemods.analysis.seams import Seam


@dataclass(frozen=True, slots=True)
class HelperReport:
    """What became of one helper. ``status`` is lifted, refused, or kept where nobody asked for it."""

    name: str
    qualname: str
    path: str
    line: int
    status: str
    refusal: Refusal | None
    captures: tuple[str, ...]
    target: str | None
    call_sites: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it is in the tree (None: it is not there) and as it would be."""

    path: Path
    shown: str
    before: bytes | None
    after: bytes

    @property
    def changed(self) -> bool:
        """Whether writing it would change anything."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run, before anything is written."""

    helpers: tuple[HelperReport, ...]
    files: tuple[FileChange, ...]
    seams: tuple[Seam, ...] = ()

    @property
    def refused(self) -> tuple[HelperReport, ...]:
        """Helpers that were asked for and are not lifted."""
        return tuple(helper for helper in self.helpers if helper.status == "refused")
