"""Collective calls of a process on both sides: the first one that differs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from golden.compare.divergence import Divergence, number_of
from golden.compare.sides import Found, Sides
from golden.trace.trace import Call

NONE = "none"


@dataclass(frozen=True, slots=True)
class CallChange(Divergence):
    """The first call of other processes in which two sides differ: another one, or other values.

    It is call ``index`` before the step ``number``, None for after the last one. ``point`` counts the
    backward passes of that step before it.
    """

    title = "calls of other ranks"

    process: str
    change: Literal["sequence", "gives", "gets"]
    number: int | None
    index: int
    left: str
    right: str
    point: int

    def order(self) -> tuple[float, float, float]:
        number = number_of(self.number)
        match self.change:
            case "sequence":
                # Before the gradients that a reduction which is missing leaves as they are.
                return (number, max(0, self.point - 1), 2.5)
            case "gives":
                # What is sent before a backward pass comes before the loss of who receives it.
                return (number, self.point, 1.5)
            case "gets":
                return (number, self.point, 3.5)

    def say(self) -> list[str]:
        rank = self.process.replace("-", " ")
        when = f"before step {self.number} overall" if self.number is not None else "after the last step"
        what = {
            "sequence": f" -> {self.right}",
            "gives": " is given other values",
            "gets": " gets other values",
        }
        return [f"{rank}, call {self.index} of other ranks {when}: {self.left}{what[self.change]}"]


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
                return Found([CallChange(sides.left.name, change, number, index, before, now, point)])
    return Found()


def _compare(x: Call | None, y: Call | None) -> tuple[Literal["sequence", "gives", "gets"], str, str] | None:
    if x is None or y is None or x.text != y.text:
        return "sequence", x.text if x else NONE, y.text if y else NONE
    if x.gives != y.gives:
        return "gives", x.text, y.text
    if x.gets != y.gets:
        return "gets", x.text, y.text
    return None
