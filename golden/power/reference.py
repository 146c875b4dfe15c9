"""The unchanged program: what each run records, which lines it executes, whether it repeats itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import Notify
from golden.compare import Identical
from golden.compare.learn import repeats
from golden.power.trees import Trees
from golden.reach.reached import Reached, read_reached
from golden.record import Run, record_run
from golden.report.text import describe
from golden.trace.errors import NothingComparable
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Reference:
    """One run of the unchanged program; ``seconds`` is how long it took in all."""

    run: Run
    trace: Trace
    reached: Reached
    seconds: float


def references(
    runs: Sequence[Run],
    trees: Trees,
    files: Sequence[str],
    *,
    out: Path,
    workers: int,
    notify: Notify,
) -> list[Reference]:
    """Record each run twice, once with the lines of some files that it executes.

    Raises `NothingComparable` for a run that differs from itself: it would notice everything.
    """

    def record(run: Run, again: bool) -> tuple[Trace, float]:
        with trees.lent() as tree:
            notify(f"{run.name}{' again' if again else ''}: running")
            place = out / run.name / ("again" if again else "unchanged")
            begun = time.monotonic()
            label = f"{run.name}{' again' if again else ''}"
            given = run.data_folder()
            found = record_run(
                run, root=tree.root, out=place, data=given, label=label, reach=() if again else files
            )
            tree.tidy()
            return found, time.monotonic() - begun

    with ThreadPoolExecutor(max_workers=workers) as pool:
        both = [[pool.submit(record, run, again) for again in (False, True)] for run in runs]
        found = []
        try:
            for run, (first, second) in zip(runs, both, strict=True):
                (trace, _), (repeated, seconds) = first.result(), second.result()
                trace, judged = repeats(trace, repeated)
                if not isinstance(judged, Identical):
                    why = describe(judged.first)[0] if hasattr(judged, "first") else ""
                    raise NothingComparable(
                        f"{run.name} differs from itself on a second run, so it would notice everything"
                        f"{f' ({why})' if why else ''}; see `golden doctor {run.name}`"
                    )
                reached = read_reached(trace.folder)
                assert reached is not None
                if reached.problem:
                    raise NothingComparable(f"{run.name}: its lines are not known: {reached.problem}")
                found.append(Reference(run, trace, reached, seconds))
        finally:
            for pair in both:
                for each in pair:
                    each.cancel()
        return found
