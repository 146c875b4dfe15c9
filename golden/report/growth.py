"""How far two runs drift apart, step by step, in ulps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from golden.compare.values import distance, load_tensors
from golden.report.lanes import Lane, StepPair
from golden.report.text import KIND_TITLES, many
from golden.trace.numbers import hex_ulps
from golden.trace.streams import Stream
from golden.trace.trace import KINDS

if TYPE_CHECKING:
    import torch

_STREAMS = 4
_LONG = 1_000_000
_STEPS = 200
_BEFORE = 2
# Of a drawing, in its own units: the plot's size, and the room for labels at its left.
_WIDTH, _HEIGHT, _LEFT = 900.0, 240.0, 60.0


@dataclass(frozen=True, slots=True)
class Line:
    """One group of tensors: the largest distance in ulps at each step; None where no value was kept."""

    kind: str
    ulps: tuple[int | None, ...]

    @property
    def title(self) -> str:
        """The group in words."""
        return KIND_TITLES[self.kind]


@dataclass(frozen=True, slots=True)
class Growth:
    """The drift of one stream from just before its first divergence on.

    ``kept`` counts the steps whose tensors both sides kept, ``total`` those with a tensor that differs;
    ``stride`` is above 1 where only every so many steps are read. ``number`` is the first step that differs,
    of the whole run.
    """

    stream: Stream
    number: int
    steps: tuple[int, ...]
    lines: tuple[Line, ...]
    kept: int
    total: int
    stride: int

    @property
    def summary(self) -> str:
        """The drawing in words."""
        parts = []
        for line in self.lines:
            known = [(step, ulps) for step, ulps in zip(self.steps, line.ulps, strict=True) if ulps]
            if known:
                (first, start), (last, end) = known[0], known[-1]
                until = f" to {end:,} at step {last}" if last > first else ""
                parts.append(f"{line.title} {many(start, 'ulp')} at step {first}{until}")
        return f"Largest distance: {'; '.join(parts)}." if parts else "No distance in ulps is known."

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Powers of ten along the side, with their heights."""
        powers = [10**power for power in range(math.ceil(math.log10(self._most + 1)) + 1)]
        return [(self._height(power), f"{power:,}" if power < _LONG else f"{power:.0e}") for power in powers]

    @property
    def ends(self) -> list[tuple[float, int]]:
        """The first and the last step along the bottom."""
        return [(self._x(place), self.steps[place]) for place in (0, len(self.steps) - 1)]

    def points(self, line: Line) -> str:
        """A line as the points of an SVG polyline, on a logarithmic scale."""
        known = [(self._x(i), self._height(u)) for i, u in enumerate(line.ulps) if u is not None]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in known)

    @property
    def _most(self) -> int:
        return max((value for line in self.lines for value in line.ulps if value), default=0)

    def _x(self, place: int) -> float:
        return _LEFT + (_WIDTH - _LEFT) * place / max(1, len(self.steps) - 1)

    def _height(self, ulps: int) -> float:
        top = math.ceil(math.log10(self._most + 1)) or 1
        return _HEIGHT * (1 - math.log10(max(1, ulps)) / top) if ulps else _HEIGHT + 8


def growths(lanes: Sequence[Lane]) -> tuple[list[Growth], int]:
    """The drift of the streams that diverge first, and how many diverging streams are left out."""
    diverging = [lane for lane in lanes if lane.first is not None]
    diverging.sort(key=lambda lane: lane.pairs[lane.first or 0].number)
    return [_growth(lane) for lane in diverging[:_STREAMS]], max(0, len(diverging) - _STREAMS)


def _growth(lane: Lane) -> Growth:
    first = lane.first or 0
    span = range(max(0, first - _BEFORE), len(lane.pairs))
    stride = -(-len(span) // _STEPS)
    steps = [index for index in span if (index - first) % stride == 0]
    found = [_distances(lane, lane.pairs[index]) for index in steps]
    kinds = [k for k in ("loss", *KINDS) if any(pairs.get(k) for pairs, _ in found)]
    return Growth(
        stream=lane.stream,
        number=lane.pairs[first].number,
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
        apart = [hex_ulps(a, b) for a, b in zip(pair.left.losses, pair.right.losses, strict=False)]
        found["loss"] = max((gap for gap in apart if gap is not None), default=None)
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
    found = []
    for name in a.keys() & b.keys():
        x, y = a[name], b[name]
        if x.dtype == y.dtype and x.shape == y.shape:
            apart = distance(x, y)
            found += [apart.ulps] if apart is not None and apart.ulps is not None else []
    return max(found, default=None)
