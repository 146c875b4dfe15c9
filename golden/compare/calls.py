"""What a process asked of others, on both sides: the first call that differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Literal

from golden.compare.outcome import CallChange
from golden.trace.trace import Call, Process

NONE = "none"


def compare_calls(left: Process, right: Process) -> CallChange | None:
    """The first call that is another one, that sends something else, or that receives something else."""
    return _first(left.name, _paired(left, right))


def _first(
    name: str, paired: Iterable[tuple[int | None, tuple[Call, ...], tuple[Call, ...]]]
) -> CallChange | None:
    for number, a, b in paired:
        for index, (x, y) in enumerate(zip_longest(a, b)):
            found = _compare(x, y)
            if found is not None:
                change, before, now = found
                points = [call.point for call in (x, y) if call is not None]
                # What is given was made by then on both sides; what is received may be used from then on.
                point = min(points) if change == "gets" else max(points)
                return CallChange(name, change, number, index, before, now, point)
    return None


def _paired(left: Process, right: Process) -> Iterator[tuple[int | None, tuple[Call, ...], tuple[Call, ...]]]:
    for a, b in zip(left.steps, right.steps, strict=False):
        yield a.number, a.calls, b.calls
    if len(left.steps) == len(right.steps):
        yield None, left.calls, right.calls


def _compare(x: Call | None, y: Call | None) -> tuple[Literal["sequence", "gives", "gets"], str, str] | None:
    if x is None or y is None or x.text != y.text:
        return "sequence", x.text if x else NONE, y.text if y else NONE
    if x.gives != y.gives:
        return "gives", x.text, y.text
    if x.gets != y.gets:
        return "gets", x.text, y.text
    return None
