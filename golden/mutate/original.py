"""The unchanged program: what each run records, which lines it executes, whether it repeats itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import Side
from golden.compare import Different, Identical
from golden.compare.learn import repeats
from golden.mutate.copies import Snapshot
from golden.reach.lines import Reached, read_reached
from golden.record import Run
from golden.report.text import describe
from golden.trace.errors import NothingComparable
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Original:
    """One run of the unchanged program; ``seconds`` is how long it took in all."""

    run: Run
    trace: Trace
    reached: Reached
    seconds: float


def originals(
    runs: Sequence[Run], tree: Snapshot, files: Sequence[str], *, out: Path, workers: int
) -> list[Original]:
    """Record each run twice, once with the lines of some files that it executes.

    Raises `NothingComparable` for a run that differs from itself: it would kill every mutant.
    """

    def record(run: Run, suffix: str) -> tuple[Trace, float]:
        with tree.copy() as place:
            side, begun = Side(f"{run.name}{suffix}", run, place), time.monotonic()
            found = side.record(out / side.label, run.data_folder(), reach=() if suffix else files)
            return found, time.monotonic() - begun

    with ThreadPoolExecutor(max_workers=workers) as pool:
        both = [[pool.submit(record, run, suffix) for suffix in ("", " again")] for run in runs]
        try:
            return [
                _checked(run, first.result()[0], *second.result())
                for run, (first, second) in zip(runs, both, strict=True)
            ]
        finally:
            pool.shutdown(cancel_futures=True)


def _checked(run: Run, trace: Trace, repeated: Trace, seconds: float) -> Original:
    """Return a run that is the same a second time, and of which it is known which lines ran."""
    trace, found = repeats(trace, repeated)
    if not isinstance(found, Identical):
        why = f" ({describe(found.first)[0]})" if isinstance(found, Different) else ""
        raise NothingComparable(
            f"{run.name} differs from itself on a second run, so it would notice everything"
            f"{why}; see `golden doctor {run.name}`"
        )
    reached = read_reached(trace.folder)
    assert reached is not None
    if reached.problem:
        raise NothingComparable(f"{run.name}: its lines are not known: {reached.problem}")
    return Original(run, trace, reached, seconds)
