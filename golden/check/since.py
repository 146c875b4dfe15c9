"""A change since a git ref, and which of its lines the runs execute."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from golden.reach.changed import Change, compare_files
from golden.reach.evidence import Evidence, Sides, evidence
from golden.record.git import changed_python


@dataclass(slots=True)
class Since:
    """A change, and the lines of it that each run executed.

    ``head`` is a ref, or None for the working tree; ``files`` are those whose lines are noted.
    """

    base: str
    head: str | None
    files: tuple[str, ...]
    change: Change
    _runs: dict[str, Sides | None] = field(default_factory=dict)

    def note(self, run: str, sides: Sides | None) -> None:
        """Add a run, instead of what was said of it before; None for one that came to no end."""
        self._runs[run] = sides

    def of(self, run: str) -> Evidence:
        """Return the diff coverage of one run."""
        return evidence(self.base, self.head, self.change, {run: self._runs[run]})

    def evidence(self) -> Evidence:
        """Return the diff coverage of all runs so far."""
        return evidence(self.base, self.head, self.change, self._runs)


def between(root: Path, base: str, head: str | None, base_root: Path, head_root: Path) -> Since:
    """Return the change between two versions that are checked out. Raises `UnusableInput`."""
    files = changed_python(root, base, head)
    return Since(base, head, tuple(files), compare_files(base_root, head_root, files))
