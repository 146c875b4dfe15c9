"""Everything that a report says about one run, gathered from two traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from golden.compare import compare
from golden.compare.outcome import Comparison, Different, Divergence, NotComparable, StepDivergence
from golden.compare.tolerance import forgive
from golden.report.lanes import Lane, lanes
from golden.report.text import KIND_TITLES
from golden.trace.errors import ExitCode
from golden.trace.numbers import readable
from golden.trace.trace import KINDS, Trace

_AROUND = 3


@dataclass(frozen=True, slots=True)
class RunReport:
    """Two traces of one run and what comparing them found."""

    left_title: str
    right_title: str
    left: Trace
    right: Trace
    comparison: Comparison
    lanes: tuple[Lane, ...]
    # What `golden ab --localize` found when it ran both sides again.
    closely: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The run's name."""
        return self.left.about.run

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for."""
        return self.comparison.code

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """All that was found, the first first."""
        found = self.comparison
        return (found.first, *found.rest) if isinstance(found, Different) else ()


@dataclass(frozen=True, slots=True)
class Told:
    """A run of which only the verdict is known, in words."""

    name: str
    code: ExitCode
    text: str
    seconds: float
    tolerated: bool = False


def build(
    left: Trace, right: Trace, *, left_title: str, right_title: str, closely: Sequence[str] = ()
) -> RunReport:
    """Compare two traces and gather what there is to show."""
    comparison = compare(left, right)
    judged = not isinstance(comparison, NotComparable)
    # What a tolerance lets pass is marked nowhere: it is said once.
    rows = lanes(left, forgive(left, right)[0]) if judged else ()
    return RunReport(left_title, right_title, left, right, comparison, rows, tuple(closely))


@dataclass(frozen=True, slots=True)
class AroundRow:
    """One step near the first divergence."""

    step: int
    number: int
    left_loss: str
    right_loss: str
    differs: str
    first: bool


def around(report: RunReport) -> tuple[AroundRow, ...]:
    """The steps around the first divergence, if it is one of a step."""
    found = report.divergences[0] if report.divergences else None
    if not isinstance(found, StepDivergence):
        return ()
    lane = next(lane for lane in report.lanes if lane.stream == found.stream)
    rows = []
    for index in range(max(0, found.step - _AROUND), min(len(lane.pairs), found.step + _AROUND + 1)):
        pair = lane.pairs[index]
        losses = [
            "no step" if side is None else ", ".join(map(readable, side.losses)) or "none seen"
            for side in (pair.left, pair.right)
        ]
        differs = ", ".join(KIND_TITLES[kind] for kind in pair.kinds)
        if pair.left is None or pair.right is None:
            differs = "only on one side"
        rows.append(AroundRow(index, pair.number, losses[0], losses[1], differs, index == found.step))
    return tuple(rows)


def lacks_values(report: RunReport) -> bool:
    """Whether the tensors of the first divergence are known by their digests only."""
    found = report.divergences[0] if report.divergences else None
    if not isinstance(found, StepDivergence):
        return False
    lane = next(lane for lane in report.lanes if lane.stream == found.stream)
    pair = lane.pairs[found.step]
    if pair.left is None or pair.right is None or not any(kind in KINDS for kind in pair.kinds):
        return False
    return not (lane.left.dense_file(pair.left.number) and lane.right.dense_file(pair.right.number))
