"""Run both sides of a divergence again, densely around its step, down to module and operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import AbResult, Side
from golden.compare import Comparison, Different, compare
from golden.compare.learn import with_unstable
from golden.compare.lines import locate_line, noise, read_lines
from golden.compare.operations import locate, read_operations
from golden.record import Closely
from golden.trace.trace import Trace

# How many looks at modules a run takes between the last identical one and the first that differs.
_LOOKS = 64


@dataclass(frozen=True, slots=True)
class Localized:
    """A comparison with the values at its step, and per process where the sides part before it.

    ``operations`` are torch's, ``lines`` the program's own, with the plain values that they set.
    """

    step: int
    left: Trace
    right: Trace
    comparison: Comparison
    operations: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, str], ...]


def localize(
    found: AbResult, base: Side, head: Side, *, out: Path, data: Path | None = None
) -> Localized | None:
    """Look closely at the step of the first divergence, or at the end of a run where it has no step.

    None if the runs are the same there.
    """

    def run(side: Side, folder: str, where: str, closely: Closely) -> Trace:
        trace = side.record(out / folder, data, f" again, {where}", closely=closely)
        return with_unstable(trace, found.left.about.unstable) if side is base else trace

    steps = max((len(process.steps) for process in found.left.processes), default=0)
    comparison, between = found.comparison, _between(found.comparison, steps)
    while len(between) > 2:
        looks = Closely(looks=between[:: -(-len(between) // _LOOKS)])
        where = f"with more looks at modules before step {between[-1]}"
        left = run(base, f"base-{len(between)}", where, looks)
        closer = compare(left, run(head, f"head-{len(between)}", where, looks))
        nearer = _between(closer, steps)
        if not 0 < len(nearer) < len(between):
            break
        comparison, between = closer, nearer
    found_at = step_of(comparison)
    step = steps if found_at is None else found_at
    # The steps after it show how fast a difference grows.
    closely = Closely(dense=range(step, step + 8), looks=between, operations=step)
    where = f"densely at step {step}"
    left = run(base, "base-dense", where, closely)
    # What differs between two runs of the base, times say, is not looked at.
    again = run(base, "base-dense-again", where, closely)
    right = run(head, "head-dense", where, closely)
    operations, lines = tuple(_locate(left, right, step)), tuple(_lines(left, again, right, step))
    if found_at is None and not lines and not any(told for _, told in operations):
        return None
    return Localized(step, left, right, compare(left, right), operations, lines)


def _between(found: Comparison, steps: int) -> range:
    """Return the steps from the last identical look at modules to a first divergence at one; else none."""
    if isinstance(found, Different) and found.first.since is not None:
        number = found.first.number
        return range(found.first.since, (steps - 1 if number is None else number) + 1)
    return range(0)


def _lines(left: Trace, again: Trace, right: Trace, step: int) -> Iterator[tuple[str, str]]:
    for processes in zip(left.processes, again.processes, right.processes, strict=False):
        files = [process.close_look("lines", step) for process in processes]
        a, b, c = (read_lines(file) if file is not None else [] for file in files)
        if told := locate_line(a, c, noise(a, b)):
            yield processes[0].name, told


def step_of(found: Comparison) -> int | None:
    """Return the overall number of the step at which two runs part first, or before which an event does."""
    if isinstance(found, Different):
        numbers = (divergence.number for divergence in (found.first, *found.rest))
        return next((number for number in numbers if number is not None), None)
    return None


def _locate(left: Trace, right: Trace, step: int) -> Iterator[tuple[str, str]]:
    for a, b in zip(left.processes, right.processes, strict=False):
        files = a.close_look("operations", step), b.close_look("operations", step)
        if files[0] is not None and files[1] is not None:
            yield a.name, locate(read_operations(files[0]), read_operations(files[1]))
