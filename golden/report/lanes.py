"""Step by step, what differs in each stream of two traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from golden.trace.streams import Stream, by_stream
from golden.trace.trace import KINDS, Process, Step, Trace

_HEX = 32


@dataclass(frozen=True, slots=True)
class StepPair:
    """One step of a stream on both sides; a side that did not take it holds None.

    ``kinds`` names what differs in causal order; ``share`` is the part of the tensors that differ, 0 to 1.
    """

    left: Step | None
    right: Step | None
    kinds: tuple[str, ...]
    share: float

    @property
    def identical(self) -> bool:
        """Whether both sides took it with the same bits."""
        return self.left is not None and self.right is not None and not self.kinds


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
        return StepPair(left, right, (), 1.0)
    kinds = tuple(_kinds(left, right))
    return StepPair(left, right, kinds, _share(left, right) if kinds else 0.0)


def _kinds(left: Step, right: Step) -> Iterator[str]:
    for kind in ("buffers", "loss", "grads", "settings", "params", "state"):
        if kind == "loss":
            differs = left.losses != right.losses
        elif kind == "settings":
            differs = left.settings != right.settings
        else:
            names = left.layout.tensors[kind], right.layout.tensors[kind]
            differs = names[0] != names[1] or (
                left.digests[kind] != right.digests[kind]
                and any(a != b for a, b in _digests(left, right, kind))
            )
        if differs:
            yield kind


def _share(left: Step, right: Step) -> float:
    differing = total = 0
    for kind in KINDS:
        pairs = _digests(left, right, kind)
        total += len(pairs)
        differing += sum(x != y for x, y in pairs)
    return differing / total if total else 0.0


def _digests(left: Step, right: Step, kind: str) -> Sequence[tuple[str | None, str | None]]:
    """Pairs of digests in order; those that were made otherwise on each side say nothing."""
    infos = zip_longest(left.layout.tensors[kind], right.layout.tensors[kind])
    pairs = zip_longest(_chunks(left.digests[kind]), _chunks(right.digests[kind]))
    return [
        ("", "") if x and y and x.digest != y.digest else p for p, (x, y) in zip(pairs, infos, strict=True)
    ]


def _chunks(digests: str) -> Sequence[str]:
    return [digests[start : start + _HEX] for start in range(0, len(digests), _HEX)]
