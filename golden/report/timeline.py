"""The events of both sides in one sequence, the differences marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from golden.compare.outcome import EventChange
from golden.report.text import field_text
from golden.trace.events import Event
from golden.trace.trace import Trace

Mark = Literal["same", "changed", "missing", "extra", "moved"]
_CONTEXT = 2
_ROWS = 60
_FIELDS = 6


@dataclass(frozen=True, slots=True)
class Row:
    """One event, or a pair of them; a side without it holds None. Places count from 0."""

    left: int | None
    right: int | None
    kind: str
    env: int | None
    mark: Mark
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """Identical events that are not shown."""

    count: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows around the changes, and the fate of every event on both sides.

    ``left_out`` counts the changes that are not shown.
    """

    rows: tuple[Row | Gap, ...]
    left: tuple[Mark, ...]
    right: tuple[Mark, ...]
    by_env: dict[int, tuple[Mark, ...]]
    left_out: int


def timeline(left: Trace, right: Trace, changes: Sequence[EventChange]) -> Timeline:
    """Both event sequences, aligned as the comparison aligned them."""
    rows = list(_aligned(left.events, right.events, changes))
    by_env: dict[int, list[Mark]] = {}
    for row in rows:
        if row.env is not None:
            by_env.setdefault(row.env, []).append(row.mark)
    shown, left_out = _around_changes(rows)
    return Timeline(
        rows=tuple(shown),
        left=tuple(row.mark for row in rows if row.left is not None),
        right=tuple(row.mark for row in rows if row.right is not None),
        by_env={env: tuple(marks) for env, marks in sorted(by_env.items())},
        left_out=left_out,
    )


def _aligned(a: Sequence[Event], b: Sequence[Event], changes: Sequence[EventChange]) -> Iterator[Row]:
    at_left = {c.left: c for c in changes if c.left is not None}
    at_right = {c.right: c for c in changes if c.right is not None}
    i = j = 0
    while i < len(a) or j < len(b):
        gone, come = at_left.get(i), at_right.get(j)
        if i < len(a) and gone is not None and gone.change in ("missing", "moved"):
            notes = (f"moved to place {gone.right}",) if gone.change == "moved" else (a[i].line,)
            yield Row(i, None, a[i].kind, a[i].env, gone.change, notes)
            i += 1
        elif j < len(b) and come is not None and come.change in ("extra", "moved"):
            notes = (f"moved from place {come.left}",) if come.change == "moved" else (b[j].line,)
            yield Row(None, j, b[j].kind, b[j].env, come.change, notes)
            j += 1
        else:
            yield _both(i, j, a[i], gone)
            i, j = i + 1, j + 1


def _both(i: int, j: int, event: Event, change: EventChange | None) -> Row:
    if change is None:
        return Row(i, j, event.kind, event.env, "same")
    notes = [field_text(field) for field in change.fields[:_FIELDS]]
    if len(change.fields) > _FIELDS:
        notes.append(f"and {len(change.fields) - _FIELDS} more fields")
    return Row(i, j, event.kind, event.env, "changed", tuple(notes))


def _around_changes(rows: Sequence[Row]) -> tuple[list[Row | Gap], int]:
    changed = [index for index, row in enumerate(rows) if row.mark != "same"]
    wanted: set[int] = set()
    for index in changed:
        near = range(max(0, index - _CONTEXT), min(len(rows), index + _CONTEXT + 1))
        if len(wanted.union(near)) > _ROWS:
            break
        wanted.update(near)
    shown: list[Row | Gap] = []
    skipped = 0
    for index, row in enumerate(rows):
        if index in wanted:
            if skipped:
                shown.append(Gap(skipped))
            shown.append(row)
            skipped = 0
        elif row.mark == "same":
            skipped += 1
    if skipped:
        shown.append(Gap(skipped))
    return shown, sum(index not in wanted for index in changed)
