"""What differs between two runs, and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from golden.trace.numbers import apart_text

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


@dataclass(frozen=True, slots=True)
class Divergence:
    """One thing in which two runs differ: ``lines`` are one that stands alone, then details.

    ``at`` is its order: by step of the whole run, by point within the step, then by what can cause what.
    ``number`` is that of the step at which it is found, or before which it was made. For modules, ``since``
    is the step of the last look that is identical.
    """

    kind: str
    at: tuple[float, float, float]
    lines: Sequence[str]
    process: str = ""
    number: int | None = None
    since: int | None = None


def unequal(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """Return the names whose values differ, and those that one side lacks."""
    return [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]


def number_of(step: int | None) -> float:
    """Return the place of a step among all; that of None is the end."""
    return END if step is None else step


@dataclass(frozen=True, slots=True)
class KindChange:
    """The tensors of one kind that differ, or scalars, settings or random states: how, by name.

    Where only digests were kept, how is empty; where one stands for all of ``total``, none is named.
    """

    kind: str
    total: int
    notes: Mapping[str, str]


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
    named = {name: note for name, note in notes.items() if name}
    return KindChange(kind, len(a.keys() | b.keys()), named) if notes else None


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


def kind_text(change: KindChange) -> str:
    """Return a change in a few words: its first tensor."""
    title = KIND_TITLES[change.kind]
    for name, note in change.notes.items():
        more = f" and {len(change.notes) - 1} more" if len(change.notes) > 1 else ""
        return f"{title} {name}{more}{_behind(note)}"
    return title


def tensor_lines(kinds: Sequence[KindChange]) -> list[str]:
    """Return changes with each of their tensors, up to a number of them."""
    lines = []
    for change in kinds:
        title, notes = KIND_TITLES[change.kind], [*change.notes.items()]
        lines.append(f"{title}: {len(notes)} of {change.total} differ" if notes else f"{title}: differs")
        lines += [f"  {name}{_behind(note)}" for name, note in notes[:SHOWN]]
        lines += [f"  and {len(notes) - SHOWN} more"] if len(notes) > SHOWN else []
    return lines


def _behind(note: str) -> str:
    return f": {note}" if note else ""


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
