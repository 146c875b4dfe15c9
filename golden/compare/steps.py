"""Two sequences of optimizer steps: stream by stream, the first step that differs and in what."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from golden.compare.divergence import (
    KIND_TITLES,
    Divergence,
    KindChange,
    changed,
    kind_text,
    number_of,
    other_text,
    tensor_lines,
)
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides, titled
from golden.compare.values import distance, load_tensors
from golden.trace.kinds import KINDS
from golden.trace.numbers import apart_text, hex_ulps, readable
from golden.trace.streams import Stream
from golden.trace.tensors import TensorInfo, by_name
from golden.trace.trace import Step

if TYPE_CHECKING:
    import torch


def compare_steps(sides: Sides) -> Found:
    """Return the first step of each stream that differs, other numbers of steps, and another order."""
    compared = Compared()
    found: list[Divergence] = []
    for stream, a, b in sides.streams():
        first = None
        more = len(a) != len(b)
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            compared += _contents(x)
            if first is None and (kinds := _compare_step(x, y, sides)):
                first = told_step(stream, index, x, y, kinds, more=more)
                found.append(first)
        if more:
            line = f"number of steps of {stream.title}: {len(a)} in base, {len(b)} in head"
            number = max(a, b, key=len)[min(len(a), len(b))].number
            found.append(Divergence("steps", (number, 0, 1), [line], stream.process, number))
    return Found([*found, *_order(sides)], compared)


def told_step(
    stream: Stream, index: int, x: Step, y: Step, kinds: Sequence[KindChange], *, more: bool = False
) -> Divergence:
    """Tell of the first step of a stream that differs, of which one side may take ``more``.

    It is dated by the side that came to it first. A step too many comes before all that follows from it.
    """
    optimizer = f", {x.layout.optimizer_class}" if x.layout.optimizer_class else ""
    overall = f"{x.number} overall" if x.number == y.number else f"{x.number} overall, {y.number} in head"
    head = f"step {index} of {stream.title} (step {overall}{optimizer}): {kind_text(kinds[0])}"
    before = f"step {index - 1} of {stream.title}" if index else "the start"
    lines = [head, *tensor_lines(kinds), f"last identical: {before}"]
    if stream.together:
        where = f"step {x.number} overall, or one after it"
        lines = [f"{where}: the golden keeps these steps as one; `golden ab --base REF` names the step"]
    kind, number = kinds[0].kind, min(x.number, y.number)
    point = (0, 1) if more and x.number != y.number else _point(kind, x, y)
    return Divergence(KIND_TITLES[kind], (number, *point), lines, stream.process, number)


def _point(kind: str, x: Step, y: Step) -> tuple[int, float]:
    """Return since when within a step two sides differ, then what that can be the cause of.

    Another process may only have got its gradients from the one whose loss differs.
    """
    passes = min(len(x.losses), len(y.losses))
    match kind:
        case "buffers":
            return 0, 2
        case "loss":
            losses = enumerate(zip(x.losses, y.losses, strict=False))
            return next((i for i, (a, b) in losses if a != b), passes), 2
        case "grads":
            # As the last backward pass left them, or what came after it; before what is sent of them.
            return (passes, -1) if passes else (0, 3)
        case _:
            return len(x.losses), 3


def _contents(step: Step) -> Compared:
    infos = [info for kind in KINDS for info in step.layout.tensors[kind]]
    size = sum(info.elements * element_size(info.dtype) for info in infos)
    return Compared(steps=1, tensors=len(infos), bytes=size, scalars=len(step.losses) + len(step.settings))


def element_size(dtype: str) -> int:
    """Return the bytes of an element, by the name that torch prints: "float32", "float8_e4m3fn", "bool"."""
    bits = re.search(r"\d+", dtype)
    # Of those with less than eight bits several share a byte, or each takes a whole one.
    return max(1, int(bits[0]) // 8) if bits else 1


def _compare_step(a: Step, b: Step, sides: Sides) -> list[KindChange]:
    files = sides.left.close_look("dense", a.number), sides.right.close_look("dense", b.number)

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
            return apart.text if apart is not None else ""

        named = by_name(a.layout.tensors, a.digests, kind), by_name(b.layout.tensors, b.digests, kind)
        moved = {"(all)": "the same tensors in another order"}
        return changed(kind, *named, differ) or KindChange(kind, len(named[0]), moved)

    before, now = ({f"of backward pass {i}": loss for i, loss in enumerate(step.losses)} for step in (a, b))
    found = (
        tensors("buffers"),
        changed("loss", before, now, _other_loss),
        tensors("grads"),
        changed("settings", a.settings, b.settings, other_text),
        tensors("params"),
        tensors("state"),
    )
    return [each for each in found if each is not None]


def _other_loss(name: str, a: str, b: str) -> str | None:
    del name
    if a == b:
        return None
    apart = hex_ulps(a, b)
    far = apart_text(float.fromhex(a), float.fromhex(b), apart) if apart is not None else ""
    return f"{readable(a)} -> {readable(b)}" + (f" ({far})" if far else "")


def _order(sides: Sides) -> list[Divergence]:
    a, b = titled(sides.left), titled(sides.right)
    if a == b or Counter(a) != Counter(b):
        return []  # a number of steps differs, which is told as such
    number, x, y = sides.until, a[sides.together].title, b[sides.together].title
    line = f"order of steps: step {number} overall is of {x} in base, of {y} in head"
    return [Divergence("steps", (number_of(number), 0, 1), [line], sides.left.name, number)]
