"""One process on both sides, as every kind compares it, with steps paired; and what a kind finds."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from esper_harness.report.plain import many
from golden.compare.divergence import END, Divergence
from golden.compare.outcome import Compared
from golden.compare.sequences import same_start, stretches
from golden.compare.tolerance import Account
from golden.trace.events import Moment
from golden.trace.streams import Stream, by_stream, streams
from golden.trace.tolerance import Tolerance
from golden.trace.trace import Between, Process, Step

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
class Sides:
    """A process on both sides: the ``whole`` of it, and ``left`` and ``right`` with the steps that both took.

    ``more`` are those that one side took more, ``tolerances`` are of the final state.
    """

    whole: tuple[Process, Process]
    left: Process
    right: Process
    more: tuple[StepCount, ...]
    tolerances: Sequence[Tolerance]
    account: Account

    def streams(self) -> Iterator[tuple[Stream, tuple[Sequence[Step], Sequence[Step]]]]:
        """Yield the steps of every stream that both sides took, on both of them."""
        of_left, of_right = by_stream(self.left), by_stream(self.right)
        for stream in of_left:
            yield stream, (of_left[stream], of_right.get(stream, []))

    def between(self) -> Iterator[tuple[int | None, Between, Between]]:
        """Yield what came before each step that both took, by its number in base, and after the last one."""
        for x, y in zip(self.left.steps, self.right.steps, strict=True):
            yield x.number, x, y
        yield None, self.left, self.right

    @property
    def until(self) -> int | None:
        """The step from which on the sides are not at the same step any more."""
        return min((count.number for count in self.more if count.between), default=None)

    def on_the_left(self, moment: Moment) -> Moment:
        """Date something of the right side by the steps of the left side."""
        number, point, _ = moment
        left, right = self.left.steps, self.right.steps
        place = bisect_left(right, number, key=lambda step: step.number)
        last = right[place - 1].number if place else -1
        if place == len(right):
            return (left[-1].number if left else -1) + number - last, point, 0
        belongs = right[place].number == number
        return left[place].number, point if belongs else 0, number - last - 1


@dataclass(frozen=True, slots=True)
class Found:
    """The differences of one kind, and how much of it was compared."""

    divergences: Sequence[Divergence] = ()
    compared: Compared = field(default_factory=Compared)


_Titled = tuple[Stream, Step]


def sides(
    left: Process, right: Process, tolerances: Sequence[Tolerance] = (), account: Account | None = None
) -> Sides:
    """Pair the steps of a process on both sides.

    Equal ones at the start and at the end belong together. Between them, streams and the number of backward
    passes before each step tell which is another one; where they don't, it is the last one.
    """
    whole, account = (left, right), account or Account()
    of_left, of_right = _titled(left), _titled(right)
    totals = Counter(stream for stream, _ in of_left), Counter(stream for stream, _ in of_right)
    if totals[0] == totals[1]:
        return Sides(whole, left, right, (), tolerances, account)
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
    a = replace(left, steps=tuple(of_left[i][1] for i, _ in pairs))
    b = replace(right, steps=tuple(of_right[j][1] for _, j in pairs))
    return Sides(whole, a, b, tuple(found.values()), tolerances, account)


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
    contents = list(map(_content, a)), list(map(_content, b))
    start = same_start(*contents)
    end = min(same_start(*(side[::-1] for side in contents)), min(len(a), len(b)) - start)
    stop_a, stop_b = len(a) - end, len(b) - end
    pairs = [(i, i) for i in range(start)]
    more: list[tuple[int, int, int]] = []
    forms = list(map(_form, a[start:stop_a])), list(map(_form, b[start:stop_b]))
    for _, (low_a, high_a, low_b, high_b) in stretches(*forms, _ALIGN_AT_MOST):
        for k in range(max(high_a - low_a, high_b - low_b)):
            i, j = start + low_a + k, start + low_b + k
            here, there = low_a + k < high_a, low_b + k < high_b
            if here and there and a[i][0] == b[j][0]:
                pairs.append((i, j))
                continue
            more += [(0, i, i)] if here else []
            more += [(1, j, min(i, start + high_a))] if there else []
    return [*pairs, *((stop_a + k, stop_b + k) for k in range(end))], more
