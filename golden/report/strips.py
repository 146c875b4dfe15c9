"""A row of points as a few coloured bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from golden.report.lanes import Lane, StepPair
from golden.report.timeline import Mark

# From the weakest to the strongest: a bar of several points shows its strongest.
_LOOKS = ("same", "some", "many", "most", "gone")
_CELLS = 96


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of one look, in cells."""

    start: int
    width: int
    look: str


@dataclass(frozen=True, slots=True)
class Strip:
    """Bars over a number of cells; ``points`` is how many points they stand for."""

    points: int
    cells: int
    bars: tuple[Bar, ...]


def step_strip(lane: Lane) -> Strip:
    """A stream's steps by how many of its tensors differ."""
    return _strip([_look(pair) for pair in lane.pairs])


def event_strip(marks: Sequence[Mark]) -> Strip:
    """A side's events by what became of them."""
    looks: dict[Mark, str] = {
        "same": "same",
        "moved": "some",
        "changed": "many",
        "missing": "gone",
        "extra": "gone",
    }
    return _strip([looks[mark] for mark in marks])


def _look(pair: StepPair) -> str:
    if pair.left is None or pair.right is None:
        return "gone"
    if pair.identical:
        return "same"
    return "some" if pair.share < 1 / 3 else "many" if pair.share < 2 / 3 else "most"


def _strip(looks: Sequence[str]) -> Strip:
    cells = min(len(looks), _CELLS)
    bars: list[Bar] = []
    for cell in range(cells):
        start, stop = cell * len(looks) // cells, (cell + 1) * len(looks) // cells
        look = max(looks[start:stop], key=_LOOKS.index)
        if bars and bars[-1].look == look:
            bars[-1] = Bar(bars[-1].start, bars[-1].width + 1, look)
        else:
            bars.append(Bar(cell, 1, look))
    return Strip(len(looks), cells, tuple(bars))
