"""Two event sequences: which events are missing, extra, moved or changed, and in which fields."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from golden.compare.divergence import END, SHOWN, Divergence, FieldChange, field_text
from golden.compare.sequences import pairs, stretches
from golden.trace.events import Event, Moment, later
from golden.trace.numbers import ulps

_ALIGN_AT_MOST = 4000
Change = Literal["missing", "extra", "moved", "changed"]
_FIELDS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class EventChange(Divergence):
    """One event that is missing in head, extra there, moved, or changed. Indices count from 0.

    ``moment`` is when it was there on every side that has it, where that was noted.
    """

    title = "events"

    change: Change
    kind: str
    env: int | None
    left: int | None
    right: int | None
    fields: tuple[FieldChange, ...]
    before: str
    moment: Moment | None = None

    def order(self) -> tuple[float, float, float]:
        if self.moment is None:
            return (END, END, 7)
        # An event that both sides had written before a backward pass or a step comes before it: it may have
        # been written earlier than it was seen, never later. Behind the steps that one side took more.
        number, point, more = self.moment
        return (number, point, 1.2 if more else 0)

    @property
    def step_of_run(self) -> int | None:
        return None if self.moment is None else self.moment[0]

    def say(self) -> list[str]:
        env = f" of env {self.env}" if self.env is not None else ""
        place = self.right if self.left is None else self.left
        fields = [field_text(field) for field in sorted(self.fields, key=_weight)]
        more = f"; {len(fields) - _FIELDS_SHOWN} more fields" if len(fields) > _FIELDS_SHOWN else ""
        told = {
            "missing": " is missing in head",
            "extra": " is extra in head",
            "moved": f" has moved to place {self.right}",
            "changed": f": {'; '.join(fields[:_FIELDS_SHOWN])}{more}",
        }
        head = f"event {place} ({self.kind}){env}{told[self.change]}"
        lines = fields[_FIELDS_SHOWN:SHOWN]
        if self.moment is not None:
            lines.append(f"written before step {self.moment[0]} overall")
        return [head, *lines, f"last identical: {self.before}"]


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


def compare_events(left: Sequence[Event], right: Sequence[Event]) -> list[EventChange]:
    """Return all changes in order of place. An added or removed event does not derail what follows it."""
    a, b = [e.line for e in left], [e.line for e in right]
    changes: list[EventChange] = []
    removed: list[int] = []
    added: list[int] = []
    for i, j in _pairs(a, b, left, right):
        if i is None or j is None:
            removed += [i] if i is not None else []
            added += [j] if j is not None else []
        elif a[i] != b[j]:
            changes.append(_change("changed", left, right, i, j))
    for i, j in _moves(removed, added, a, b):
        kind: Change = "missing" if j is None else "extra" if i is None else "moved"
        changes.append(_change(kind, left, right, i, j))
    return sorted(changes, key=lambda c: min(x for x in (c.left, c.right) if x is not None))


def _change(
    change: Change, left: Sequence[Event], right: Sequence[Event], i: int | None, j: int | None
) -> EventChange:
    x, y = left[i] if i is not None else None, right[j] if j is not None else None
    event = x or y
    assert event is not None
    when = later(x.moment, y.moment) if x and y else event.moment
    fields = tuple(compare_fields(x.payload, y.payload)) if x and y and change == "changed" else ()
    last = before(left, i) if i is not None else before(right, j or 0)
    return EventChange(change, event.kind, event.env, i, j, fields, last, when)


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
    """Equal lines anchor the alignment; between anchors, events of the same kind and env belong together."""
    for equal, (low_a, high_a, low_b, high_b) in stretches(a, b, _ALIGN_AT_MOST):
        if equal:
            continue
        keys_a = [f"{e.kind}\0{e.env}" for e in left[low_a:high_a]]
        keys_b = [f"{e.kind}\0{e.env}" for e in right[low_b:high_b]]
        for i, j in pairs(keys_a, keys_b, _ALIGN_AT_MOST):
            yield None if i is None else low_a + i, None if j is None else low_b + j


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
    """Name the event before another one."""
    if index == 0:
        return "the start"
    event = events[index - 1]
    where = f", env {event.env}" if event.env is not None else ""
    return f"event {index - 1} ({event.kind}{where})"


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
