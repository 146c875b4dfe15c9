"""Run both sides of a divergence again, densely around its step, down to module and operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import AbResult, Side
from golden.check.progress import progress
from golden.compare import Comparison, Different, compare
from golden.compare.learn import with_unstable
from golden.compare.lines import LineChange, locate_line, noise, read_lines
from golden.compare.operations import Located, locate, read_operations
from golden.record import record_run
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Localized:
    """A comparison with the values at its step, and per process where the sides part before it.

    ``operations`` are torch's, ``lines`` the program's own, with the plain values that they set.
    """

    step: int
    left: Trace
    right: Trace
    comparison: Comparison
    operations: tuple[tuple[str, Located], ...]
    lines: tuple[tuple[str, LineChange], ...]


def localize(
    found: AbResult, base: Side, head: Side, *, out: Path, data: Path | None = None
) -> Localized | None:
    """Look closely at the step of the first divergence, or at the end of a run where it has no step.

    None if the runs are the same there.
    """
    step = step_of(found.comparison)
    at_end = step is None
    if step is None:
        step = max((len(process.steps) for process in found.left.processes), default=0)
    traces = []
    # The base twice: what differs between its two runs, times say, is not looked at.
    for side, folder in ((base, "base-dense"), (base, "base-dense-again"), (head, "head-dense")):
        progress.say(f"{side.run.name}, {side.label}: running again, densely at step {step}")
        # The steps after it show how fast a difference grows.
        trace = record_run(
            side.run,
            root=side.root,
            out=out / folder,
            data=data,
            dense=range(step, step + 8),
            operations=step,
            label=side.label,
            beside=side.beside,
        )
        traces.append(trace)
    left, again, right = traces
    left = with_unstable(left, found.left.about.unstable)
    operations, lines = tuple(_locate(left, right, step)), tuple(_lines(left, again, right, step))
    if at_end and not lines and all(located.change == "nothing" for _, located in operations):
        return None
    return Localized(step, left, right, compare(left, right), operations, lines)


def _lines(left: Trace, again: Trace, right: Trace, step: int) -> Iterator[tuple[str, LineChange]]:
    for processes in zip(left.processes, again.processes, right.processes, strict=False):
        files = [process.close_look("lines", step) for process in processes]
        a, b, c = (read_lines(file) if file is not None else [] for file in files)
        change = locate_line(a, c, noise(a, b))
        if change is not None:
            yield processes[0].name, change


def step_of(found: Comparison) -> int | None:
    """Return the overall number of the step at which two runs part first, or before which an event does."""
    if isinstance(found, Different):
        numbers = (divergence.step_of_run for divergence in (found.first, *found.rest))
        return next((number for number in numbers if number is not None), None)
    return None


def _locate(left: Trace, right: Trace, step: int) -> Iterator[tuple[str, Located]]:
    for a, b in zip(left.processes, right.processes, strict=False):
        files = a.close_look("operations", step), b.close_look("operations", step)
        if files[0] is not None and files[1] is not None:
            yield a.name, locate(read_operations(files[0]), read_operations(files[1]))
