"""Run both sides of a divergence again, densely around its step, down to module and operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import AbResult, Notify, Side, quiet
from golden.compare import Comparison, Different, compare
from golden.compare.operations import Located, locate, read_operations
from golden.compare.outcome import RandomState, StepCount, StepDivergence, StepOrder
from golden.record import record_run
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Localized:
    """A comparison with the values at its step, and per process the operation at which the sides part."""

    step: int
    left: Trace
    right: Trace
    comparison: Comparison
    operations: tuple[tuple[str, Located], ...]


def localize(
    found: AbResult, base: Side, head: Side, *, out: Path, data: Path | None = None, notify: Notify = quiet
) -> Localized | None:
    """Look closely at the step of the first divergence; None if it has no step."""
    step = step_of(found.comparison)
    if step is None:
        return None
    traces = []
    for side, folder in ((base, "base-dense"), (head, "head-dense")):
        notify(f"{side.label}: running again, densely at step {step}")
        # The steps after it show how fast a difference grows.
        trace = record_run(
            side.run,
            root=side.root,
            out=out / folder,
            data=data,
            dense=range(step, step + 8),
            operations=step,
            label=side.label,
        )
        traces.append(trace)
    left, right = traces
    return Localized(step, left, right, compare(left, right), tuple(_locate(left, right, step)))


def step_of(found: Comparison) -> int | None:
    """The overall number of the step at which two runs part first."""
    if isinstance(found, Different):
        for divergence in (found.first, *found.rest):
            if isinstance(divergence, (StepDivergence, StepCount, StepOrder, RandomState)):
                return divergence.number
    return None


def _locate(left: Trace, right: Trace, step: int) -> Iterator[tuple[str, Located]]:
    for a, b in zip(left.processes, right.processes, strict=False):
        files = a.operations_file(step), b.operations_file(step)
        if files[0] is not None and files[1] is not None:
            yield a.name, locate(read_operations(files[0]), read_operations(files[1]))
