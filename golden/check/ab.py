"""Run a program twice, or two versions of it once each, and compare."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden.check.advice import check_declared, check_matched, check_same_tree
from golden.check.progress import progress
from golden.compare import Comparison, Identical, NotComparable, compare
from golden.compare.learn import repeats
from golden.reach.changes import Change, compare_files
from golden.reach.lines import Reached, read_reached
from golden.record import Run, record_run
from golden.record.git import changed_python
from golden.trace.errors import GoldenError
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class AbResult:
    """A comparison with both its traces; ``itself`` is how the left side differs from itself, if it does."""

    left: Trace
    right: Trace
    comparison: Comparison
    reached: tuple[Reached, Reached] | None = None
    itself: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One version of a program: a run and the tree to run it in."""

    label: str
    run: Run
    root: Path
    # The working tree, where ``root`` is a tree of another version.
    beside: Path | None = None

    def record(self, out: Path, data: Path | None, how: str = "", **more: Any) -> Trace:
        """Record it, and say ``how``; ``more`` is handed to `record_run`."""
        own = self.label.startswith(self.run.name)
        progress.say(f"{self.label if own else f'{self.run.name}, {self.label}'}: running{how}")
        given = {"label": self.label, **more}
        return record_run(self.run, root=self.root, beside=self.beside, out=out, data=data, **given)


def doctor(run: Run, *, root: Path, out: Path, data: Path | None = None, ids: bool = True) -> AbResult:
    """Run it twice in separate processes (A/A): is it deterministic at all, with ``ids`` also those?"""
    sides = [Side(f"{run.name} run {index}", run, root) for index in (1, 2)]
    first, again = (side.record(out / f"run-{index}", data) for index, side in enumerate(sides, 1))
    check_same_tree(run.name, (first, again))
    check_declared(run, first)
    check_matched(first)
    left, found = repeats(first, again, ids=ids)
    return AbResult(left, again, found)


def ab(
    base: Side,
    head: Side,
    *,
    out: Path,
    data: Path | None = None,
    workers: int = 1,
    reach: Sequence[str] = (),
) -> AbResult:
    """Compare two versions on this machine, now: base against itself first, then base against head.

    ``reach`` names files of which it is told which lines ran, on both sides.

    A base that differs from itself can't be compared with anything: the result is then `NotComparable`.
    """

    with ThreadPoolExecutor(max_workers=workers) as pool:
        recordings = [
            pool.submit(base.record, out / "base", data, reach=reach),
            pool.submit(base.record, out / "base-again", data, " again", label=f"{base.label} again"),
            pool.submit(head.record, out / "head", data, reach=reach),
        ]
        try:
            _raise_first(base, head, recordings)
            left, again, right = (recording.result() for recording in recordings)
            check_same_tree(base.run.name, (left, again, right) if base.root == head.root else (left, again))
            check_declared(base.run, left)
            check_matched(left, right)
            left, itself = repeats(left, again)
        finally:
            for recording in recordings:
                recording.cancel()
    found: Comparison = compare(left, right)
    repeated = isinstance(itself, Identical)
    if not repeated:
        found = NotComparable(
            f"{base.label} differs from itself on a second run, so its difference to {head.label} "
            f"means nothing; `golden doctor` with the same run or command says more"
        )
    before, after = read_reached(left.folder), read_reached(right.folder)
    reached = (before, after) if before and after else None
    return AbResult(left, right, found, reached, None if repeated else itself)


def between(root: Path, base: str, head: str | None, base_root: Path, head_root: Path) -> Change:
    """Return the change between two versions that are checked out. Raises `UnusableInput`."""
    files = changed_python(root, base, head)
    return Change(base, head, tuple(files), *compare_files(base_root, head_root, files))


def _raise_first(base: Side, head: Side, recordings: Sequence[Future[Trace]]) -> None:
    """Raise what a side came to, with its name and what became of the other one."""
    failed = [recording.exception() for recording in recordings]
    sides = {base.label: failed[0] or failed[1], head.label: failed[2]}
    for label, error in sides.items():
        if error is None:
            continue
        if not isinstance(error, GoldenError):
            raise error
        other, theirs = next((name, found) for name, found in sides.items() if name != label)
        fate = f"{other} ran to its end" if theirs is None else f"{other} failed too ({theirs})"
        hint = "; a tree of another version holds committed files only: name other data in [data] paths"
        # The head has at least the files that the base ran with.
        alone = base.root != head.root and theirs is None and label == base.label
        raise type(error)(f"{label} failed: {error}; {fate}{hint if alone else ''}")
