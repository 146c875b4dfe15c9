"""Step by step, what differs in each stream of two traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from golden.trace.streams import Stream, by_stream
from golden.trace.trace import Process, Step, Trace


@dataclass(frozen=True, slots=True)
class StepPair:
    """One step of a stream on both sides; a side that did not take it holds None.

    ``kinds`` names what differs in causal order.
    """

    left: Step | None
    right: Step | None
    kinds: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether both sides took it with the same bits."""
        return self.left is not None and self.right is not None and not self.kinds

    @property
    def number(self) -> int:
        """The step of the whole run."""
        step = self.left or self.right
        return step.number if step is not None else 0


@dataclass(frozen=True, slots=True)
class Lane:
    """All steps of one stream, side by side."""

    stream: Stream
    left: Process
    right: Process
    pairs: tuple[StepPair, ...]

    @property
    def first(self) -> int | None:
        """The first step that is not identical."""
        return next((index for index, pair in enumerate(self.pairs) if not pair.identical), None)


def lanes(left: Trace, right: Trace) -> tuple[Lane, ...]:
    """A lane for every stream that took a step on either side, environments first."""
    found: list[Lane] = []
    for a, b in zip(left.processes, right.processes, strict=False):
        of_left, of_right = by_stream(a), by_stream(b)
        for stream in dict.fromkeys([*of_left, *of_right]):
            both = zip_longest(of_left.get(stream, ()), of_right.get(stream, ()))
            found.append(Lane(stream, a, b, tuple(_pair(x, y) for x, y in both)))
    return tuple(sorted(found, key=lambda lane: (lane.stream.env is None, lane.stream.env or 0)))


def _pair(left: Step | None, right: Step | None) -> StepPair:
    if left is None or right is None:
        return StepPair(left, right, ())
    return StepPair(left, right, tuple(_kinds(left, right)))


def _kinds(left: Step, right: Step) -> Iterator[str]:
    for kind in ("buffers", "loss", "grads", "settings", "params", "state"):
        if kind == "loss":
            differs = left.losses != right.losses
        elif kind == "settings":
            differs = left.settings != right.settings
        else:
            differs = (
                left.layout.tensors[kind] != right.layout.tensors[kind]
                or left.digests[kind] != right.digests[kind]
            )
        if differs:
            yield kind
