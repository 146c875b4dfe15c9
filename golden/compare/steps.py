"""Two sequences of optimizer steps: stream by stream, the first step that differs and in what."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from golden.compare.divergence import (
    KIND_TITLES,
    Divergence,
    KindChange,
    TensorChange,
    Told,
    changed,
    distance_text,
    kind_text,
    other_text,
    tensor_lines,
)
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides, StepCount
from golden.compare.values import distance, load_tensors
from golden.trace.kinds import KINDS
from golden.trace.numbers import apart_text, hex_ulps, readable
from golden.trace.streams import Stream, streams
from golden.trace.tensors import TensorInfo, by_name
from golden.trace.trace import Process, Step

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class StepDivergence(Divergence):
    """The first step of a stream that differs. ``step`` counts within the stream, from 0.

    ``point`` says since when within the step: one of its backward passes in order, then the step itself.
    """

    stream: Stream
    step: int
    number: int
    optimizer: str
    kinds: tuple[KindChange, ...]
    before: str
    point: int = 0

    def order(self) -> tuple[float, float, float]:
        # Another process may only have got its gradients from the one whose loss differs.
        return (self.number, self.point, 2 if self.kinds[0].kind in ("loss", "buffers") else 3)

    def origin(self) -> tuple[str, tuple[float, float]]:
        # Gradients are as the last backward pass left them, or what came after it.
        return self.stream.process, (self.number, self.point + (self.kinds[0].kind == "grads"))

    def say(self) -> list[str]:
        if self.stream.together:
            where = f"step {self.number} overall, or one after it"
            return [f"{where}: the golden keeps these steps as one; `golden ab --base REF` names the step"]
        optimizer = f", {self.optimizer}" if self.optimizer else ""
        place = f"step {self.step} of {self.stream.title} (step {self.number} overall{optimizer})"
        head = f"{place}: {kind_text(self.kinds[0])}"
        return [head, *tensor_lines(self.kinds), f"last identical: {self.before}"]

    @property
    def kind_title(self) -> str:
        return KIND_TITLES[self.kinds[0].kind]


def first_steps(found: Iterable[Divergence]) -> dict[Stream, int]:
    """Return the first step that differs of every stream that has one."""
    firsts: dict[Stream, int] = {}
    for each in found:
        if isinstance(each, StepDivergence | StepCount):
            firsts[each.stream] = min(each.step, firsts.get(each.stream, each.step))
    return firsts


def compare_steps(sides: Sides) -> Found:
    """Return the first step of each stream that differs, steps that one side took more, and their order."""
    compared = Compared()
    divergences: list[Divergence] = [*sides.more]
    for stream, (a, b) in sides.streams():
        first, amount = _compare_stream(stream, a, b, sides.left, sides.right)
        compared += amount
        divergences += [first] if first is not None else []
    order = _compare_order(*sides.whole)
    divergences += [order] if order is not None else []
    return Found(divergences, compared)


def _compare_stream(
    stream: Stream, a: Sequence[Step], b: Sequence[Step], left: Process, right: Process
) -> tuple[StepDivergence | None, Compared]:
    compared = Compared()
    first = None
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        compared += _contents(x)
        if first is None:
            kinds = _compare_step(x, y, left, right)
            if kinds:
                before = f"step {index - 1} of {stream.title}" if index else "the start"
                optimizer, point = x.layout.optimizer_class, _point(x, y, kinds)
                first = StepDivergence(stream, index, x.number, optimizer, kinds, before, point)
    return first, compared


def _point(x: Step, y: Step, kinds: tuple[KindChange, ...]) -> int:
    """Since when within a step two sides differ: a loss at its backward pass, gradients at the last one."""
    passes = min(len(x.losses), len(y.losses))
    match kinds[0].kind:
        case "buffers":
            return 0
        case "loss":
            return next(
                (i for i, (a, b) in enumerate(zip(x.losses, y.losses, strict=False)) if a != b), passes
            )
        case "grads":
            return max(0, passes - 1)
        case _:
            return len(x.losses)


def _contents(step: Step) -> Compared:
    infos = [info for kind in KINDS for info in step.layout.tensors[kind]]
    size = sum(info.elements * element_size(info.dtype) for info in infos)
    return Compared(steps=1, tensors=len(infos), bytes=size, scalars=len(step.losses) + len(step.settings))


def element_size(dtype: str) -> int:
    """Return the bytes of an element, by the name that torch prints: "float32", "float8_e4m3fn", "bool"."""
    bits = re.search(r"\d+", dtype)
    # Of those with less than eight bits several share a byte, or each takes a whole one.
    return max(1, int(bits[0]) // 8) if bits else 1


def _compare_step(a: Step, b: Step, left: Process, right: Process) -> tuple[KindChange, ...]:
    files = left.close_look("dense", a.number), right.close_look("dense", b.number)

    @functools.cache
    def kept() -> list[Mapping[str, Mapping[str, torch.Tensor]]]:
        return [{} if None in files or path is None else load_tensors(path) for path in files]

    def tensors(kind: str) -> KindChange | None:
        if a.digests[kind] == b.digests[kind] and a.layout.tensors[kind] == b.layout.tensors[kind]:
            return None
        x_values, y_values = (side.get(kind, {}) for side in kept())

        def differ(name: str, x: tuple[TensorInfo, str], y: tuple[TensorInfo, str]) -> str | None:
            if x[0] != y[0]:
                return " -> ".join(f"{info.dtype}{list(info.shape)}" for info, _ in (x, y))
            if x[1] == y[1]:
                return None
            known = name in x_values and name in y_values
            apart = distance(x_values[name], y_values[name]) if known else None
            return distance_text(apart) if apart is not None else ""

        named = by_name(a.layout.tensors, a.digests, kind), by_name(b.layout.tensors, b.digests, kind)
        moved = TensorChange("(all)", "the same tensors in another order")
        return changed(kind, *named, differ) or KindChange(kind, len(named[0]), (moved,))

    before, now = ({f"of backward pass {i}": loss for i, loss in enumerate(step.losses)} for step in (a, b))
    found = (
        tensors("buffers"),
        changed("loss", before, now, _other_loss),
        tensors("grads"),
        changed("settings", a.settings, b.settings, other_text),
        tensors("params"),
        tensors("state"),
    )
    return tuple(each for each in found if each is not None)


def _other_loss(name: str, a: str, b: str) -> str | None:
    del name
    if a == b:
        return None
    apart = hex_ulps(a, b)
    far = apart_text(float.fromhex(a), float.fromhex(b), apart) if apart is not None else ""
    return f"{readable(a)} -> {readable(b)}" + (f" ({far})" if far else "")


def _compare_order(left: Process, right: Process) -> Told | None:
    names_left, names_right = streams(left), streams(right)
    a = [names_left[s.layout.optimizer] for s in left.steps]
    b = [names_right[s.layout.optimizer] for s in right.steps]
    if Counter(a) != Counter(b):
        return None  # a step count differs, which is reported as such
    for step, x, y in zip(left.steps, a, b, strict=True):
        if x != y:
            line = f"order of steps: step {step.number} overall is of {x.title} in base, of {y.title} in head"
            return Told("steps", (step.number, 0, 1), [line], left.name, step.number)
    return None
