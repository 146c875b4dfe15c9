"""Two event sequences: which events are missing, extra or changed, and in which fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from golden.compare.divergence import END, SHOWN, Divergence, FieldChange, field_text
from golden.compare.sequences import pairs, stretches
from golden.trace.events import Event, dated
from golden.trace.numbers import ulps

KIND = "events"
_ALIGN_AT_MOST = 4000
_FIELDS_SHOWN = 3


def aligned(left: Sequence[Event], right: Sequence[Event]) -> Iterator[tuple[int | None, int | None]]:
    """Pair the places of all events in order, None for what a side lacks.

    Equal events are anchors; between them, those of the same kind and env belong together. So one that is
    added or removed does not derail what follows it.
    """
    a, b = [event.line for event in left], [event.line for event in right]
    for equal, (low_a, high_a, low_b, high_b) in stretches(a, b, _ALIGN_AT_MOST):
        if equal:
            yield from zip(range(low_a, high_a), range(low_b, high_b), strict=True)
            continue
        keys_a = [f"{e.kind}\0{e.env}" for e in left[low_a:high_a]]
        keys_b = [f"{e.kind}\0{e.env}" for e in right[low_b:high_b]]
        for i, j in pairs(keys_a, keys_b, _ALIGN_AT_MOST):
            yield None if i is None else low_a + i, None if j is None else low_b + j


def compare_events(left: Sequence[Event], right: Sequence[Event]) -> list[Divergence]:
    """Return all changes in order."""
    found = []
    for i, j in aligned(left, right):
        x, y = left[i] if i is not None else None, right[j] if j is not None else None
        if x is None or y is None or x.line != y.line:
            found.append(_told(i if i is not None else j, x, y))
    return found


def _told(place: int | None, x: Event | None, y: Event | None) -> Divergence:
    """Tell of an event at a place of base, or of head where base lacks it. Places count from 0."""
    event = x or y
    assert event is not None
    env = f" of env {event.env}" if event.env is not None else ""
    head, more, moment = f"event {place} ({event.kind}){env}", list[str](), event.moment
    if x is None or y is None:
        head += " is extra in head" if x is None else " is missing in head"
    else:
        moment = dated(x.moment, y.moment)
        fields = [field_text(f) for f in sorted(compare_fields(x.payload, y.payload), key=_weight)]
        left_out = f"; {len(fields) - _FIELDS_SHOWN} more fields" if len(fields) > _FIELDS_SHOWN else ""
        head += f": {'; '.join(fields[:_FIELDS_SHOWN])}{left_out}"
        more = fields[_FIELDS_SHOWN:SHOWN]
    if moment is None:
        return Divergence(KIND, (END, END, 7), [head, *more])
    # An event that both sides had written before a backward pass or a step comes before it: it may have been
    # written earlier than it was seen, never later.
    number, point = moment
    lines = [head, *more, f"written before step {number} overall"]
    return Divergence(KIND, (number, point, 0), lines, number=number)


def _weight(field: FieldChange) -> tuple[int, float, str]:
    """Order changed fields: words and counts first, then numbers by the size of their change."""
    if field.left is None or field.right is None:
        return (0, 0.0, field.path)
    if field.ulps is None:
        return (1, 0.0, field.path)
    left, right = float(field.left), float(field.right)
    # Zeros of two signs differ by their bits alone.
    largest = max(abs(left), abs(right)) or 1.0
    return (2, -abs(right - left) / largest, field.path)


def compare_fields(left: Any, right: Any, path: str = "") -> Iterator[FieldChange]:
    """Yield the fields in which two payloads differ; of lists, items where one begins as the other."""
    lists = isinstance(left, list) and isinstance(right, list)
    if lists and (len(left) == len(right) or left[: len(right)] == right[: len(left)]):
        left, right = dict(enumerate(left)), dict(enumerate(right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            below = f"{path}.{key}" if path else str(key)
            if key not in left:
                yield FieldChange(below, None, _text(right[key]), None)
            elif key not in right:
                yield FieldChange(below, _text(left[key]), None, None)
            else:
                yield from compare_fields(left[key], right[key], below)
    elif _text(left) != _text(right):
        both = isinstance(left, float) and isinstance(right, float)
        yield FieldChange(path, _text(left), _text(right), ulps(left, right) if both else None)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
