"""One thing in which two runs differ: a class for each kind, beside the code that finds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from esper_harness.report.plain import many
from golden.trace.numbers import apart_text, far_apart

END = float("inf")
T = TypeVar("T")

KIND_TITLES = {
    "layout": "names or shapes",
    "buffers": "buffer",
    "loss": "loss",
    "grads": "gradient",
    "settings": "setting",
    "params": "parameter",
    "state": "optimizer state",
    "rng": "random state",
    "training": "training flag",
    "requires_grad": "requires_grad",
    "extra": "extra state",
    "attributes": "attribute",
    "whole": "state",
}
SHOWN = 10
_LONG_VALUE = 120


class Divergence(ABC):
    """A difference; ``title`` is that of its kind."""

    __slots__ = ()
    title: ClassVar[str]

    @abstractmethod
    def order(self) -> tuple[float, float, float]:
        """Order by step of the whole run, by point within the step, then by what can cause what."""

    @abstractmethod
    def say(self) -> list[str]:
        """Return a line that stands alone, then details."""

    def origin(self) -> tuple[str, tuple[float, float]]:
        """Return the process that differs, and when: at which step, after how many of its backward passes."""
        number, point, _ = self.order()
        of = getattr(self, "stream", self)
        return getattr(of, "process", ""), (number, point)

    @property
    def step_of_run(self) -> int | None:
        """The overall number of the step at which it is found, or before which it was made."""
        number: int | None = getattr(self, "number", None)
        return number

    @property
    def kind_title(self) -> str:
        """The name for things of its kind."""
        return self.title


def unequal(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """Return the names whose values differ, and those that one side lacks."""
    return [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]


def number_of(step: int | None) -> float:
    """Return the place of a step among all; that of None is the end."""
    return END if step is None else step


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of two tensors of one dtype and shape, ``finite`` if all that differs are finite floats.

    ``ulps`` is that of these; None where there are none.
    """

    differing: int
    elements: int
    ulps: int | None
    absolute: float | None
    finite: bool
    nan_left: int
    nan_right: int
    index: tuple[int, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class TensorChange:
    """One tensor that differs; ``note`` says how, empty where only digests were kept."""

    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class KindChange:
    """The tensors of one kind that differ at a step, or scalars, settings or random states."""

    kind: str
    total: int
    tensors: tuple[TensorChange, ...]


def changed(
    kind: str, a: Mapping[str, T], b: Mapping[str, T], differ: Callable[[str, T, T], str | None]
) -> KindChange | None:
    """Return what of a kind one side lacks, and what ``differ`` says of the others; None for no difference.

    Where one digest stands for all of a kind, none is named.
    """
    notes: dict[str, str] = {}
    for name in dict.fromkeys([*a, *b]):
        both = name in a and name in b
        note = differ(name, a[name], b[name]) if both else f"absent in {'head' if name in a else 'base'}"
        if note is not None:
            notes[name] = note
    named = tuple(TensorChange(name, note) for name, note in notes.items() if name)
    return KindChange(kind, len(a.keys() | b.keys()) if named else 0, named) if notes else None


def other_text(name: str, a: str, b: str) -> str | None:
    """Say how two texts differ, for `changed`."""
    del name
    return f"{a} -> {b}" if a != b else None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of an event; a side without it holds None."""

    path: str
    left: str | None
    right: str | None
    ulps: int | None


@dataclass(frozen=True, slots=True)
class Told(Divergence):
    """A difference of a ``kind`` that its ``lines`` tell in full; ``at`` is its order."""

    kind: str
    at: tuple[float, float, float]
    lines: Sequence[str]
    process: str = ""
    number: int | None = None

    def order(self) -> tuple[float, float, float]:
        return self.at

    def say(self) -> list[str]:
        return [*self.lines]

    @property
    def kind_title(self) -> str:
        return self.kind


def kind_text(change: KindChange) -> str:
    name = KIND_TITLES[change.kind]
    if not change.tensors:
        return name
    first = change.tensors[0]
    more = f" and {len(change.tensors) - 1} more" if len(change.tensors) > 1 else ""
    return f"{name} {first.name}{more}{_apart(first)}"


def tensor_lines(kinds: tuple[KindChange, ...]) -> list[str]:
    lines = []
    for change in kinds:
        if not change.tensors:
            lines.append(f"{KIND_TITLES[change.kind]}: differs")
            continue
        lines.append(f"{KIND_TITLES[change.kind]}: {len(change.tensors)} of {change.total} differ")
        lines += [f"  {tensor.name}{_apart(tensor)}" for tensor in change.tensors[:SHOWN]]
        if len(change.tensors) > SHOWN:
            lines.append(f"  and {len(change.tensors) - SHOWN} more")
    return lines


def _apart(change: TensorChange) -> str:
    return f": {change.note}" if change.note else ""


def distance_text(apart: Distance) -> str:
    """Return a distance in words."""
    parts = [f"{apart.differing} of {apart.elements} elements"]
    share = _share(apart.left, apart.right)
    if apart.ulps is not None and not share:
        parts.append(f"up to {many(apart.ulps, 'ulp')}")
    if apart.absolute is not None:
        parts.append(f"{apart.absolute:.3g} absolute")
    if apart.nan_left or apart.nan_right:
        parts.append(f"NaN: {apart.nan_left} in base, {apart.nan_right} in head")
    parts.append(f"first at {list(apart.index)}: {apart.left} -> {apart.right}{share}")
    return ", ".join(parts)


def _share(left: str, right: str) -> str:
    try:
        found = far_apart(float(left), float(right))
    except ValueError:
        return ""
    return f" ({found})" if found else ""


def field_text(field: FieldChange) -> str:
    """Return one changed field in words."""
    if field.left is None:
        return f"field {field.path} is extra ({excerpt(field.right or '', 0)})"
    if field.right is None:
        return f"field {field.path} is missing (was {excerpt(field.left, 0)})"
    far = apart_text(float(field.left), float(field.right), field.ulps) if field.ulps is not None else ""
    apart = f" ({far})" if far else ""
    left, right = near_difference(field.left, field.right)
    return f"field {field.path}: {left} -> {right}{apart}"


def near_difference(left: str, right: str) -> tuple[str, str]:
    """Return two values, long ones only from a little before the first character that differs."""
    if len(left) <= _LONG_VALUE and len(right) <= _LONG_VALUE:
        return left, right
    pairs = enumerate(zip(left, right, strict=False))
    same = next((place for place, (a, b) in pairs if a != b), min(len(left), len(right)))
    start = max(0, same - _LONG_VALUE // 4)
    return excerpt(left, start), excerpt(right, start)


def excerpt(value: str, start: int) -> str:
    stop = start + _LONG_VALUE
    before = f"({start:,} characters) …" if start else ""
    after = f"… ({len(value):,} in all)" if len(value) > stop else ""
    return f"{before}{value[start:stop]}{after}"
