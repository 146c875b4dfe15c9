"""One process on both sides, as every kind compares it, and what a kind finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from golden.compare.align import Aligned, align
from golden.compare.divergence import Divergence
from golden.compare.outcome import Compared
from golden.compare.tolerance import Account
from golden.trace.streams import Stream, by_stream
from golden.trace.tolerance import Tolerance
from golden.trace.trace import Process, Step


@dataclass(frozen=True, slots=True)
class Sides:
    """A process on both sides: the ``whole`` of it, and ``left`` and ``right`` with the steps that both took.

    ``tolerances`` are of the final state.
    """

    whole: tuple[Process, Process]
    left: Process
    right: Process
    aligned: Aligned
    tolerances: Sequence[Tolerance]
    account: Account

    def streams(self) -> Iterator[tuple[Stream, tuple[Sequence[Step], Sequence[Step]]]]:
        """Yield the steps of every stream that both sides took, on both of them."""
        of_left, of_right = by_stream(self.left), by_stream(self.right)
        for stream in of_left:
            yield stream, (of_left[stream], of_right.get(stream, []))

    @property
    def until(self) -> int | None:
        """The step from which on the sides are not at the same step any more."""
        return min((count.number for count in self.aligned.more if count.between), default=None)


@dataclass(frozen=True, slots=True)
class Found:
    """The differences of one kind, and how much of it was compared."""

    divergences: Sequence[Divergence] = ()
    compared: Compared = field(default_factory=Compared)


def sides(
    left: Process, right: Process, tolerances: Sequence[Tolerance] = (), account: Account | None = None
) -> Sides:
    """Pair the steps of a process on both sides."""
    aligned = align(left, right)
    a, b = replace(left, steps=aligned.left), replace(right, steps=aligned.right)
    return Sides((left, right), a, b, aligned, tolerances, account or Account())
