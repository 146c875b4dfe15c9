"""Printed lines and written files of two runs: the first line or field of each that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from golden.compare.divergence import (
    END,
    SHOWN,
    FieldChange,
    Told,
    excerpt,
    field_text,
    near_difference,
)
from golden.compare.events import Change, compare_events, compare_fields
from golden.compare.outcome import Compared
from golden.trace.events import Event
from golden.trace.outputs import STREAMS, Output, leaves
from golden.trace.trace import Trace

KIND = "output"


def _told(title: str, change: Change, place: str, fields: Sequence[FieldChange], total: int) -> Told:
    """Tell of a stream or file by its first differing line, row or fields, of ``total`` that do.

    ``place`` says where in it, empty for the whole of it.
    """
    where = f"{title}, {place}" if place else title
    head, more = f"{where} is another one", list[str]()
    if change in ("missing", "extra"):
        text = (fields[0].left or fields[0].right or "") if fields else ""
        head = f"{where} is {change} in head" + (f": {excerpt(text, 0)}" if text else "")
    elif change == "moved":
        head = f"{where} has moved"
    elif fields:
        head, *more = (_output_field(field) for field in fields[:SHOWN])
        head = f"{where}: {head}"
    if place and total > 1:
        more.append(f"{total:,} lines or rows of it differ")
    return Told(KIND, (END, END, 10), [head, *more])


def _output_field(field: FieldChange) -> str:
    if field.path == "line" and field.left is not None and field.right is not None:
        left, right = near_difference(field.left, field.right)
        return f"{left} -> {right}"
    return field_text(field)


def compare_outputs(left: Trace, right: Trace) -> tuple[list[Told], Compared]:
    """Return the streams and files that differ, each once, and how much was compared."""
    a, b = ({output.name: output for output in side} for side in (left.outputs, right.outputs))
    changes: list[Told] = []
    compared = Compared(uncompared=tuple(sorted({*left.about.without, *right.about.without})))
    for name in dict.fromkeys([*a, *b]):
        x, y = a.get(name), b.get(name)
        if x is None or y is None:
            one = x or y
            assert one is not None
            changes.append(_told(one.title, "extra" if x is None else "missing", "", (), 1))
            continue
        if x.unread or y.unread:
            compared += Compared(uncompared=(f"{x.title} ({x.unread or y.unread})",))
            continue
        compared += Compared(outputs=amount(x))
        found = _compare(x, y)
        if found and _only_moved(x, y):
            compared += Compared(uncompared=(f"order of lines of {name} (it differs)",))
            continue
        changes += found
    return changes, compared


def amount(output: Output) -> int:
    """Count the values of an output."""
    return sum(1 for row in output.rows for _ in leaves(row))


def _compare(x: Output, y: Output) -> list[Told]:
    if x.rows == y.rows and repr(x.rows) == repr(y.rows):
        return []
    if x.is_tree and y.is_tree:
        fields = tuple(compare_fields(x.rows[0], y.rows[0]))
        return [_told(x.title, "changed", "", fields, len(fields))] if fields else []
    changes = compare_events(events_of(x), events_of(y))
    if not changes:
        return []
    first = changes[0]
    side, index = (x, first.left) if first.left is not None else (y, first.right)
    assert index is not None
    fields = first.fields or _whole(first.change, side.rows[index])
    return [_told(x.title, first.change, place(side, index), fields, len(changes))]


def _only_moved(x: Output, y: Output) -> bool:
    """Tell whether a stream has the same lines in another order: threads print in any order."""
    if x.name not in STREAMS:
        return False
    return Counter(str(row["line"]) for row in x.rows) == Counter(str(row["line"]) for row in y.rows)


def _whole(change: str, row: object) -> tuple[FieldChange, ...]:
    """Return a row that one side lacks, as its fields."""
    if change not in ("missing", "extra"):
        return ()
    texts = ((path, repr(value)) for path, value in leaves(row))
    return tuple(
        FieldChange(path, text if change == "missing" else None, text if change == "extra" else None, None)
        for path, text in texts
    )


def events_of(output: Output) -> Sequence[Event]:
    """Return rows as events: those that belong together have one kind."""
    return [Event(str(row.get("tag", "row")), None, row) for row in output.rows]


def place(output: Output, index: int) -> str:
    """Name the place of a row."""
    row = output.rows[index]
    if output.kind == "tensorboard":
        return f"{row.get('tag')}, step {row.get('step')}"
    return f"{'line' if output.kind in ('text', 'json lines') else 'row'} {index + 1}"
