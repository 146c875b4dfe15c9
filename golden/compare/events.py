"""Two event sequences: which events are missing, extra, moved or changed, and in which fields."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from golden.compare.outcome import EventChange, FieldChange
from golden.trace.events import Event
from golden.trace.moments import later
from golden.trace.numbers import ulps

# SequenceMatcher is quadratic in the worst case; longer gaps are matched position by position.
_ALIGN_AT_MOST = 4000


def compare_events(left: Sequence[Event], right: Sequence[Event]) -> list[EventChange]:
    """All changes in order of place. An added or removed event does not derail what follows it."""
    a, b = [e.line for e in left], [e.line for e in right]
    changes: list[EventChange] = []
    removed: list[int] = []
    added: list[int] = []
    for i, j in _pairs(a, b, left, right):
        if j is None and i is not None:
            removed.append(i)
        elif i is None and j is not None:
            added.append(j)
        elif i is not None and j is not None and a[i] != b[j]:
            fields = tuple(compare_fields(left[i].payload, right[j].payload))
            when = later(left[i].moment, right[j].moment)
            changes.append(
                EventChange("changed", left[i].kind, left[i].env, i, j, fields, before(left, i), when)
            )
    for i, j in _moves(removed, added, a, b):
        if i is not None and j is not None:
            event, when = left[i], later(left[i].moment, right[j].moment)
            changes.append(EventChange("moved", event.kind, event.env, i, j, (), before(left, i), when))
        elif i is not None:
            event = left[i]
            changes.append(
                EventChange("missing", event.kind, event.env, i, None, (), before(left, i), event.moment)
            )
        elif j is not None:
            event = right[j]
            changes.append(
                EventChange("extra", event.kind, event.env, None, j, (), before(right, j), event.moment)
            )
    return sorted(changes, key=lambda c: min(x for x in (c.left, c.right) if x is not None))


def compare_events_by_env(left: Sequence[Event], right: Sequence[Event]) -> list[EventChange]:
    """As `compare_events`, for each env by itself and for the events of none; places count within."""
    envs = sorted({e.env for e in (*left, *right) if e.env is not None})
    return [
        change
        for env in (*envs, None)
        for change in compare_events([e for e in left if e.env == env], [e for e in right if e.env == env])
    ]


def _pairs(
    a: Sequence[str], b: Sequence[str], left: Sequence[Event], right: Sequence[Event]
) -> Iterator[tuple[int | None, int | None]]:
    start = 0
    shortest = min(len(a), len(b))
    while start < shortest and a[start] == b[start]:
        start += 1
    end = 0
    while end < shortest - start and a[len(a) - 1 - end] == b[len(b) - 1 - end]:
        end += 1
    stop_a, stop_b = len(a) - end, len(b) - end
    # Equal lines anchor the alignment; between anchors, events of the same kind and env belong together.
    for low_a, high_a, low_b, high_b in _gaps(a, b, (start, stop_a), (start, stop_b)):
        keys_a = [f"{e.kind}\0{e.env}" for e in left[low_a:high_a]]
        keys_b = [f"{e.kind}\0{e.env}" for e in right[low_b:high_b]]
        x = y = 0
        for block in _blocks(keys_a, keys_b):
            yield from ((low_a + i, None) for i in range(x, block[0]))
            yield from ((None, low_b + j) for j in range(y, block[1]))
            yield from ((low_a + block[0] + k, low_b + block[1] + k) for k in range(block[2]))
            x, y = block[0] + block[2], block[1] + block[2]


def _gaps(
    a: Sequence[str], b: Sequence[str], span_a: tuple[int, int], span_b: tuple[int, int]
) -> Iterator[tuple[int, int, int, int]]:
    low_a, low_b = span_a[0], span_b[0]
    for i, j, size in _blocks(a[span_a[0] : span_a[1]], b[span_b[0] : span_b[1]]):
        high_a, high_b = span_a[0] + i, span_b[0] + j
        if high_a > low_a or high_b > low_b:
            yield low_a, high_a, low_b, high_b
        low_a, low_b = high_a + size, high_b + size


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int]]:
    if max(len(a), len(b)) > _ALIGN_AT_MOST:
        size = min(len(a), len(b))
        equal = [(i, i, 1) for i in range(size) if a[i] == b[i]]
        return [*equal, (len(a), len(b), 0)]
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return [(block.a, block.b, block.size) for block in matcher.get_matching_blocks()]


def _moves(
    removed: list[int], added: list[int], a: Sequence[str], b: Sequence[str]
) -> Iterator[tuple[int | None, int | None]]:
    places: dict[str, list[int]] = defaultdict(list)
    for j in added:
        places[b[j]].append(j)
    moved: set[int] = set()
    for i in removed:
        if places[a[i]]:
            j = places[a[i]].pop(0)
            moved.add(j)
            yield i, j
        else:
            yield i, None
    yield from ((None, j) for j in added if j not in moved)


def before(events: Sequence[Event], index: int) -> str:
    """What comes before an event, in words."""
    if index == 0:
        return "the start"
    event = events[index - 1]
    where = f", env {event.env}" if event.env is not None else ""
    return f"event {index - 1} ({event.kind}{where})"


def compare_fields(left: Any, right: Any, path: str = "") -> Iterator[FieldChange]:
    """The fields in which two payloads differ."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            below = f"{path}.{key}" if path else key
            if key not in left:
                yield FieldChange(below, None, _text(right[key]), None)
            elif key not in right:
                yield FieldChange(below, _text(left[key]), None, None)
            else:
                yield from compare_fields(left[key], right[key], below)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (x, y) in enumerate(zip(left, right, strict=True)):
            yield from compare_fields(x, y, f"{path}.{index}")
    elif _text(left) != _text(right):
        both = isinstance(left, float) and isinstance(right, float)
        yield FieldChange(path, _text(left), _text(right), ulps(left, right) if both else None)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
