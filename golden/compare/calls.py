"""Collective calls of a process on both sides: the first one that differs."""

from __future__ import annotations

from itertools import zip_longest
from typing import Literal

from golden.compare.divergence import Divergence, number_of
from golden.compare.sides import Found, Sides
from golden.trace.trace import Call

NONE = "none"
# The last part of the order of calls that received something else.
RECEIVED = 3.5
Change = Literal["sequence", "gives", "gets"]


def call_change(
    process: str, change: Change, number: int | None, index: int, left: str, right: str, point: int
) -> Divergence:
    """Tell of call ``index`` before the step ``number``, None for after the last one.

    ``point`` counts the backward passes of that step before it.
    """
    step = number_of(number)
    order, what = {
        # Before the gradients that a reduction which is missing leaves as they are.
        "sequence": ((step, max(0, point - 1), 2.5), f" -> {right}"),
        # What is sent before a backward pass comes before the loss of who receives it.
        "gives": ((step, point, 1.5), " is given other values"),
        "gets": ((step, point, RECEIVED), " gets other values"),
    }[change]
    when = f"before step {number} overall" if number is not None else "after the last step"
    line = f"{process.replace('-', ' ')}, call {index} of other ranks {when}: {left}{what}"
    return Divergence("calls of other ranks", order, [line], process, number)


def compare_calls(sides: Sides) -> Found:
    """Find the first call that is another one, or that sends or receives something else."""
    for number, a, b in sides.between():
        for index, (x, y) in enumerate(zip_longest(a.calls, b.calls)):
            found = _compare(x, y)
            if found is not None:
                change, before, now = found
                points = [call.point for call in (x, y) if call is not None]
                # What is given was made by then on both sides; what is received may be used from then on.
                point = min(points) if change == "gets" else max(points)
                return Found([call_change(sides.left.name, change, number, index, before, now, point)])
    return Found()


def _compare(x: Call | None, y: Call | None) -> tuple[Change, str, str] | None:
    if x is None or y is None or x.text != y.text:
        return "sequence", x.text if x else NONE, y.text if y else NONE
    if x.gives != y.gives:
        return "gives", x.text, y.text
    if x.gets != y.gets:
        return "gets", x.text, y.text
    return None
