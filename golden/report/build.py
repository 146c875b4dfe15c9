"""Everything that a report says about one run, gathered from two traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from golden.compare import compare
from golden.compare.outcome import (
    Comparison,
    Different,
    Divergence,
    EventChange,
    FinalState,
    NotComparable,
    StepDivergence,
)
from golden.compare.tolerance import forgive
from golden.compare.values import load_tensors
from golden.report.facts import TensorRow, dense_command, layer, tensor_row
from golden.report.growth import Growth, growths
from golden.report.lanes import Lane, lanes
from golden.report.text import KIND_TITLES
from golden.report.timeline import Timeline, timeline
from golden.trace.errors import ExitCode
from golden.trace.numbers import readable
from golden.trace.streams import Stream, final_streams
from golden.trace.trace import KINDS, Trace

_AROUND = 3


@dataclass(frozen=True, slots=True)
class RunReport:
    """Two traces of one run and what comparing them found; ``growths_left_out`` counts streams."""

    left_title: str
    right_title: str
    left: Trace
    right: Trace
    comparison: Comparison
    lanes: tuple[Lane, ...]
    growths: tuple[Growth, ...]
    growths_left_out: int
    timeline: Timeline
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
    allowed = forgive(left, right)[0] if judged else right
    rows = lanes(left, allowed) if judged else ()
    found = (comparison.first, *comparison.rest) if isinstance(comparison, Different) else ()
    drift, left_out = growths(rows)
    changes = [d for d in found if isinstance(d, EventChange)]
    return RunReport(
        left_title=left_title,
        right_title=right_title,
        left=left,
        right=right,
        comparison=comparison,
        lanes=rows,
        growths=drift,
        growths_left_out=left_out,
        timeline=timeline(left, allowed, changes) if judged else Timeline((), (), (), {}, 0),
        closely=tuple(closely),
    )


@dataclass(frozen=True, slots=True)
class AroundRow:
    """One step near the first divergence."""

    step: int
    number: str
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
        number = (pair.left or pair.right or lane.left.steps[0]).number
        losses = [
            "no step" if side is None else ", ".join(map(readable, side.losses)) or "none seen"
            for side in (pair.left, pair.right)
        ]
        differs = ", ".join(KIND_TITLES[kind] for kind in pair.kinds)
        if pair.left is None or pair.right is None:
            differs = "only on one side"
        rows.append(AroundRow(index, str(number), losses[0], losses[1], differs, index == found.step))
    return tuple(rows)


def tensor_rows(report: RunReport) -> tuple[TensorRow, ...]:
    """Every tensor, scalar and setting that differs at the first divergence."""
    found = report.divergences[0] if report.divergences else None
    if not isinstance(found, (StepDivergence, FinalState)):
        return ()
    return tuple(tensor_row(change.kind, tensor) for change in found.kinds for tensor in change.tensors)


@dataclass(frozen=True, slots=True)
class Unkept:
    """Tensors of one kind that differ, of which no side kept enough to say by how much."""

    kind: str
    names: tuple[str, ...]


def unkept(rows: Sequence[TensorRow]) -> tuple[Unkept, ...]:
    """The rows that can say no more than a name, by kind."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if not row.known:
            names.setdefault(row.kind, []).append(row.name)
    return tuple(Unkept(kind, tuple(found)) for kind, found in names.items())


@dataclass(frozen=True, slots=True)
class LayerRow:
    """How far one layer ended apart: the largest distance in ulps by kind, in words; "none" was kept."""

    stream: Stream
    layer: str
    ulps: tuple[str, ...]


def final_layers(report: RunReport) -> tuple[LayerRow, ...]:
    """The distance of every layer at the end of the run, from the final states that both sides kept."""
    found: dict[tuple[Stream, str], dict[str, int | None]] = {}
    for divergence in report.divergences:
        if not isinstance(divergence, FinalState):
            continue
        for change in divergence.kinds:
            for tensor in change.tensors:
                kinds = found.setdefault((divergence.stream, layer(change.kind, tensor.name)), {})
                apart = tensor.distance.ulps if tensor.distance is not None else None
                kinds[change.kind] = max(apart or 0, kinds.get(change.kind) or 0) or None
    kept = _kept(report) if found else set()
    return tuple(
        LayerRow(
            stream,
            name,
            tuple(_cell(kinds, kind, kept=(stream, name, kind) in kept) for kind in KINDS),
        )
        for (stream, name), kinds in found.items()
    )


def _cell(kinds: dict[str, int | None], kind: str, *, kept: bool) -> str:
    if kind not in kinds:
        return "same" if kept else "none"
    ulps = kinds[kind]
    return "differs" if ulps is None else f"{ulps:,}"


def _kept(report: RunReport) -> set[tuple[Stream, str, str]]:
    """The layers and kinds of which a final state holds a tensor."""
    found: set[tuple[Stream, str, str]] = set()
    for process in (*report.left.processes, *report.right.processes):
        for (stream, _), number in final_streams(process).items():
            for kind, tensors in load_tensors(process.final_files[number]).items():
                found |= {(stream, layer(kind, name), kind) for name in tensors}
    return found


def missing_values(report: RunReport) -> str | None:
    """The command that would keep the tensors of the first divergence; None where both sides kept them."""
    found = report.divergences[0] if report.divergences else None
    if not isinstance(found, StepDivergence):
        return None
    lane = next(lane for lane in report.lanes if lane.stream == found.stream)
    pair = lane.pairs[found.step]
    if pair.left is None or pair.right is None or not any(kind in KINDS for kind in pair.kinds):
        return None
    kept = lane.left.dense_file(pair.left.number) and lane.right.dense_file(pair.right.number)
    return None if kept else dense_command(report.name, found.number)
