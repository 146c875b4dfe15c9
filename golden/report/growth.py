"""How far two runs drift apart, step by step, in ulps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from golden.compare.values import distance, load_tensors
from golden.report.lanes import Lane, StepPair
from golden.trace.numbers import hex_ulps
from golden.trace.streams import Stream
from golden.trace.trace import KINDS

if TYPE_CHECKING:
    import torch

_STREAMS = 4
_STEPS = 200
_BEFORE = 2


@dataclass(frozen=True, slots=True)
class Line:
    """One group of tensors: the largest distance in ulps at each step; None where no value was kept."""

    kind: str
    ulps: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """The drift of one stream from just before its first divergence on.

    ``kept`` counts the steps whose tensors both sides kept, ``total`` those with a tensor that differs;
    ``stride`` is above 1 where only every so many steps are read.
    """

    stream: Stream
    steps: tuple[int, ...]
    lines: tuple[Line, ...]
    kept: int
    total: int
    stride: int

    @property
    def known(self) -> bool:
        """Whether there is anything to plot."""
        return any(value for line in self.lines for value in line.ulps)


def growths(lanes: Sequence[Lane]) -> tuple[tuple[Growth, ...], int]:
    """The drift of the streams that diverge first, and how many diverging streams are left out."""
    diverging = [lane for lane in lanes if lane.first is not None]
    diverging.sort(key=lambda lane: _number(lane.pairs[lane.first or 0]))
    return tuple(map(_growth, diverging[:_STREAMS])), max(0, len(diverging) - _STREAMS)


def _number(pair: StepPair) -> int:
    step = pair.left or pair.right
    return step.number if step is not None else 0


def _growth(lane: Lane) -> Growth:
    first = lane.first or 0
    span = range(max(0, first - _BEFORE), len(lane.pairs))
    stride = -(-len(span) // _STEPS)
    steps = [index for index in span if (index - first) % stride == 0]
    found = [_distances(lane, lane.pairs[index]) for index in steps]
    kinds = [k for k in ("loss", *KINDS) if any(pairs.get(k) for pairs, _ in found)]
    return Growth(
        stream=lane.stream,
        steps=tuple(steps),
        lines=tuple(Line(kind, tuple(values.get(kind) for values, _ in found)) for kind in kinds),
        kept=sum(kept is True for _, kept in found),
        total=sum(kept is not None for _, kept in found),
        stride=stride,
    )


def _distances(lane: Lane, pair: StepPair) -> tuple[dict[str, int | None], bool | None]:
    """The largest distance by kind, and whether tensors were kept; None if none of them differs."""
    if pair.left is None or pair.right is None:
        return {}, None
    found: dict[str, int | None] = {kind: 0 for kind in ("loss", *KINDS) if kind not in pair.kinds}
    if "loss" in pair.kinds:
        found["loss"] = _loss_ulps(pair.left.losses, pair.right.losses)
    unequal = [kind for kind in KINDS if kind in pair.kinds]
    if not unequal:
        return found, None
    left, right = lane.left.dense_file(pair.left.number), lane.right.dense_file(pair.right.number)
    if left is None or right is None:
        return found, False
    a, b = load_tensors(left), load_tensors(right)
    for kind in unequal:
        found[kind] = _furthest(a.get(kind, {}), b.get(kind, {}))
    return found, True


def _furthest(a: Mapping[str, torch.Tensor], b: Mapping[str, torch.Tensor]) -> int | None:
    """The largest distance of tensors of one name and form; None if none has one in ulps."""
    furthest = None
    for name in a.keys() & b.keys():
        x, y = a[name], b[name]
        if x.dtype != y.dtype or x.shape != y.shape:
            continue
        apart = distance(x, y)
        if apart is not None and apart.ulps is not None:
            furthest = max(furthest or 0, apart.ulps)
    return furthest


def _loss_ulps(left: Sequence[str], right: Sequence[str]) -> int | None:
    apart = [hex_ulps(a, b) for a, b in zip(left, right, strict=False)]
    return max((gap for gap in apart if gap is not None), default=None)
