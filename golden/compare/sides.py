"""One process on both sides, as every kind compares it, with steps paired; and what a kind finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from golden.compare.divergence import Divergence
from golden.compare.outcome import Compared
from golden.compare.sequences import same_start
from golden.compare.tolerance import Account
from golden.trace.streams import Stream, by_stream, streams
from golden.trace.tolerance import Tolerance
from golden.trace.trace import Between, Process, Step


@dataclass(frozen=True, slots=True)
class Sides:
    """A process on both sides, which are at the same step for the first ``together`` steps.

    After these, one side takes a step of another stream, or none. ``tolerances`` are of the final state.
    """

    left: Process
    right: Process
    together: int
    tolerances: Sequence[Tolerance]
    account: Account

    def streams(self) -> Iterator[tuple[Stream, Sequence[Step], Sequence[Step]]]:
        """Yield the steps of every stream, on both sides."""
        of_left, of_right = by_stream(self.left), by_stream(self.right)
        for stream in dict.fromkeys([*of_left, *of_right]):
            yield stream, of_left.get(stream, []), of_right.get(stream, [])

    def between(self) -> Iterator[tuple[int | None, Between, Between]]:
        """Yield what came before each step that is the same one, by its number, and after the last one."""
        for x, y in zip(self.left.steps[: self.together], self.right.steps[: self.together], strict=True):
            yield x.number, x, y
        yield None, self.left, self.right

    @property
    def until(self) -> int | None:
        """The step from which on the sides are not at the same step any more."""
        steps = self.left.steps[self.together :]
        return steps[0].number if steps else None


@dataclass(frozen=True, slots=True)
class Found:
    """The differences of one kind, and how much of it was compared."""

    divergences: Sequence[Divergence] = ()
    compared: Compared = field(default_factory=Compared)


def sides(
    left: Process, right: Process, tolerances: Sequence[Tolerance] = (), account: Account | None = None
) -> Sides:
    """Pair the steps of a process on both sides, one by one for as long as they are of the same streams."""
    together = same_start(titled(left), titled(right))
    return Sides(left, right, together, tolerances, account or Account())


def titled(process: Process) -> list[Stream]:
    """Return the stream of each step."""
    names = streams(process)
    return [names[step.layout.optimizer] for step in process.steps]
