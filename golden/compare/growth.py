"""How a difference grows: per step, the share of tensors that differ and how far they are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from golden.compare.values import distance, load_tensors
from golden.trace.numbers import hex_ulps
from golden.trace.streams import Stream, streams
from golden.trace.trace import KINDS, Process, Step

_HEX = 32


@dataclass(frozen=True, slots=True)
class StepGap:
    """One step on both sides. ``shares`` and ``ulps`` go by kind; ``ulps`` is known for dense steps only."""

    stream: Stream
    step: int
    number: int
    shares: Mapping[str, float]
    ulps: Mapping[str, int]
    loss_ulps: int | None

    @property
    def equal(self) -> bool:
        """Whether nothing of it differs."""
        return not any(self.shares.values()) and not self.loss_ulps


def gaps(left: Process, right: Process) -> list[StepGap]:
    """Every step that both sides took, in the left side's order."""
    names_left, names_right = streams(left), streams(right)
    waiting: dict[Stream, list[Step]] = {}
    for step in right.steps:
        waiting.setdefault(names_right[step.layout.optimizer], []).append(step)
    taken: dict[Stream, int] = {}
    found = []
    for step in left.steps:
        stream = names_left[step.layout.optimizer]
        index = taken.get(stream, 0)
        taken[stream] = index + 1
        partners = waiting.get(stream, [])
        if index < len(partners):
            found.append(_gap(stream, index, step, partners[index], left, right))
    return found


def _gap(stream: Stream, index: int, a: Step, b: Step, left: Process, right: Process) -> StepGap:
    shares = {kind: _share(a.digests[kind], b.digests[kind]) for kind in KINDS}
    losses = [hex_ulps(x, y) for x, y in zip(a.losses, b.losses, strict=False)]
    known = [value for value in losses if value is not None]
    return StepGap(stream, index, a.number, shares, _ulps(a, b, left, right), max(known, default=None))


def _share(a: str, b: str) -> float:
    count = max(len(a), len(b)) // _HEX
    if count == 0 or a == b:
        return 0.0
    differing = sum(a[i * _HEX : (i + 1) * _HEX] != b[i * _HEX : (i + 1) * _HEX] for i in range(count))
    return differing / count


def _ulps(a: Step, b: Step, left: Process, right: Process) -> dict[str, int]:
    files = left.dense_file(a.number), right.dense_file(b.number)
    if files[0] is None or files[1] is None:
        return {}
    found: dict[str, int] = {}
    x, y = load_tensors(files[0]), load_tensors(files[1])
    for kind in KINDS:
        for name, tensor in x.get(kind, {}).items():
            other = y.get(kind, {}).get(name)
            if other is None or other.shape != tensor.shape or other.dtype != tensor.dtype:
                continue
            apart = distance(tensor, other)
            found[kind] = max(found.get(kind, 0), apart.ulps or 0 if apart else 0)
    return found
