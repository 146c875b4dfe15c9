"""Alignment of the steps of two sides, where one side took more of them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

from esper_harness.report.plain import many
from golden.compare.divergence import END, Divergence
from golden.trace.moments import Moment
from golden.trace.streams import Stream, streams
from golden.trace.trace import Process, Step

# SequenceMatcher is quadratic in the worst case; longer stretches are matched place by place.
_ALIGN_AT_MOST = 1500


@dataclass(frozen=True, slots=True)
class StepCount(Divergence):
    """A stream took more steps on one side; a stream that is missing took none.

    The first one that is more is ``step`` of the stream, at step ``number`` of the run; with ``between``,
    both sides go on after it.
    """

    title = "steps"

    stream: Stream
    left: int
    right: int
    number: int
    step: int = 0
    between: bool = False

    def order(self) -> tuple[float, float, float]:
        return (self.number, 0, 1) if self.between else (self.number, END, 4)

    def say(self) -> list[str]:
        counts = f"{self.left} in base, {self.right} in head"
        if not self.between:
            return [f"number of steps of {self.stream.title}: {counts}"]
        more, apart = ("base" if self.left > self.right else "head"), abs(self.left - self.right)
        where = f"{many(apart, 'step')} more of {self.stream.title} in {more}"
        return [f"{where}, at step {self.number} overall: {counts}"]


@dataclass(frozen=True, slots=True)
class Aligned:
    """The steps of both sides that belong together, in order, and those that one side took more."""

    left: tuple[Step, ...]
    right: tuple[Step, ...]
    more: tuple[StepCount, ...]

    def on_the_left(self, moment: Moment) -> Moment:
        """Date something of the right side by the steps of the left side."""
        number, point, _ = moment
        place = bisect_left(self.right, number, key=lambda step: step.number)
        last = self.right[place - 1].number if place else -1
        if place == len(self.right):
            return (self.left[-1].number if self.left else -1) + number - last, point, 0
        belongs = self.right[place].number == number
        return self.left[place].number, point if belongs else 0, number - last - 1


_Titled = tuple[Stream, Step]


def align(left: Process, right: Process) -> Aligned:
    """Pair the steps of two processes.

    Equal ones at the start and at the end belong together. Between them, streams and the number of backward
    passes before each step tell which is another one; where they don't, it is the last one.
    """
    of_left, of_right = _titled(left), _titled(right)
    totals = Counter(stream for stream, _ in of_left), Counter(stream for stream, _ in of_right)
    if totals[0] == totals[1]:
        return Aligned(left.steps, right.steps, ())
    pairs, more = _pairs(of_left, of_right)
    inside = max((i for i, _ in pairs), default=-1)
    found: dict[Stream, StepCount] = {}
    for side, index, place in more:
        stream, step = (of_left, of_right)[side][index]
        if totals[0][stream] == totals[1][stream] or stream in found:
            continue
        before = sum(1 for other, _ in (of_left, of_right)[side][:index] if other == stream)
        number = place if place <= inside else step.number
        found[stream] = StepCount(
            stream, totals[0][stream], totals[1][stream], number, before, place <= inside
        )
    return Aligned(
        tuple(of_left[i][1] for i, _ in pairs),
        tuple(of_right[j][1] for _, j in pairs),
        tuple(found.values()),
    )


def _titled(process: Process) -> list[_Titled]:
    names = streams(process)
    return [(names[step.layout.optimizer], step) for step in process.steps]


def _form(step: _Titled) -> tuple[Stream, int]:
    return step[0], len(step[1].losses)


def _content(step: _Titled) -> tuple[object, ...]:
    return step[0], step[1].losses, tuple(step[1].digests.items())


def _pairs(
    a: Sequence[_Titled], b: Sequence[_Titled]
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Pair indices; of steps that one side has more give the side, the index there, its place in base."""
    start = _equal(a, b)
    end = min(_equal(a[::-1], b[::-1]), min(len(a), len(b)) - start)
    stop_a, stop_b = len(a) - end, len(b) - end
    pairs = [(i, i) for i in range(start)]
    more: list[tuple[int, int, int]] = []
    for low_a, high_a, low_b, high_b in _stretches(a[start:stop_a], b[start:stop_b]):
        for k in range(max(high_a - low_a, high_b - low_b)):
            i, j = start + low_a + k, start + low_b + k
            here, there = low_a + k < high_a, low_b + k < high_b
            if here and there and a[i][0] == b[j][0]:
                pairs.append((i, j))
                continue
            more += [(0, i, i)] if here else []
            more += [(1, j, min(i, start + high_a))] if there else []
    return [*pairs, *((stop_a + k, stop_b + k) for k in range(end))], more


def _equal(a: Sequence[_Titled], b: Sequence[_Titled]) -> int:
    """Count the steps at the start that are the same."""
    same = takewhile(lambda pair: _content(pair[0]) == _content(pair[1]), zip(a, b, strict=False))
    return sum(1 for _ in same)


def _stretches(a: Sequence[_Titled], b: Sequence[_Titled]) -> Iterator[tuple[int, int, int, int]]:
    """Yield stretches of both sides that belong together, or that one side lacks."""
    if max(len(a), len(b)) > _ALIGN_AT_MOST:
        yield 0, len(a), 0, len(b)
        return
    forms = list(map(_form, a)), list(map(_form, b))
    for _, low_a, high_a, low_b, high_b in SequenceMatcher(None, *forms, autojunk=False).get_opcodes():
        yield low_a, high_a, low_b, high_b
