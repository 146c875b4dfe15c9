"""Run a program twice, or two versions of it once each, and compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from golden.compare import Comparison, Identical, NotComparable, compare
from golden.record import Run, record_run
from golden.trace.trace import Trace

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AbResult:
    """A comparison with both its traces."""

    left: Trace
    right: Trace
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Side:
    """One version of a program: a run and the tree to run it in."""

    label: str
    run: Run
    root: Path


def _quiet(message: str) -> None:
    del message


def doctor(run: Run, *, root: Path, out: Path, data: Path | None = None, notify: Notify = _quiet) -> AbResult:
    """Run it twice in separate processes (A/A): is it deterministic at all?"""
    traces = []
    for index in (1, 2):
        notify(f"{run.name}: run {index} of 2")
        traces.append(
            record_run(run, root=root, out=out / f"run-{index}", data=data, label=f"{run.name} run {index}")
        )
    return AbResult(traces[0], traces[1], compare(traces[0], traces[1]))


def ab(base: Side, head: Side, *, out: Path, data: Path | None = None, notify: Notify = _quiet) -> AbResult:
    """Compare two versions on this machine, now: base against itself first, then base against head.

    A base that differs from itself can't be compared with anything: the result is then `NotComparable`.
    """
    notify(f"{base.run.name}: {base.label}")
    left = record_run(base.run, root=base.root, out=out / "base", data=data, label=base.label)
    notify(f"{head.run.name}: {head.label}")
    right = record_run(head.run, root=head.root, out=out / "head", data=data, label=head.label)
    found = compare(left, right)
    if isinstance(found, Identical):
        return AbResult(left, right, found)
    notify(f"{base.run.name}: {base.label} again, to see whether it is deterministic")
    again = record_run(
        base.run, root=base.root, out=out / "base-again", data=data, label=f"{base.label} again"
    )
    if not isinstance(compare(left, again), Identical):
        found = NotComparable(
            f"{base.label} differs from itself on a second run, so its difference to {head.label} "
            f"means nothing; see `golden doctor {base.run.name}`"
        )
    return AbResult(left, right, found)
