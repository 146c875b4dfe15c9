"""Printed lines and written files of two runs: the first line or field of each that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from golden.compare.divergence import (
    END,
    SHOWN,
    Divergence,
    FieldChange,
    excerpt,
    field_text,
    near_difference,
)
from golden.compare.events import aligned, compare_fields
from golden.compare.outcome import Compared
from golden.trace.events import Event
from golden.trace.outputs import STREAMS, Output, leaves
from golden.trace.trace import Trace

KIND = "output"


def _told(title: str, place: str, what: str, fields: Sequence[str] = (), total: int = 1) -> Divergence:
    """Tell of a stream or file by its first line, row or fields that differ, of ``total`` that do.

    ``place`` says where in it, empty for the whole of it.
    """
    head, *more = fields or ("",)
    where = f"{title}, {place}" if place else title
    lines = [f"{where}{what}" + (f": {head}" if head else ""), *more]
    if place and total > 1:
        lines.append(f"{total:,} lines or rows of it differ")
    return Divergence(KIND, (END, END, 10), lines)


def _output_field(field: FieldChange) -> str:
    if field.path == "line" and field.left is not None and field.right is not None:
        left, right = near_difference(field.left, field.right)
        return f"{left} -> {right}"
    return field_text(field)


def compare_outputs(left: Trace, right: Trace) -> tuple[list[Divergence], Compared]:
    """Return the streams and files that differ, each once, and how much was compared."""
    a, b = ({output.name: output for output in side} for side in (left.outputs, right.outputs))
    changes: list[Divergence] = []
    compared = Compared(uncompared=tuple(sorted({*left.about.without, *right.about.without})))
    for name in dict.fromkeys([*a, *b]):
        x, y = a.get(name), b.get(name)
        if x is None or y is None:
            one = x or y
            assert one is not None
            extra = (x is None) != (one.kind == "removed")
            changes.append(_told(one.title, "", f" is {'extra' if extra else 'missing'} in head"))
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


def _compare(x: Output, y: Output) -> list[Divergence]:
    if x.rows == y.rows and repr(x.rows) == repr(y.rows):
        return []
    if x.is_tree and y.is_tree:
        fields = _fields(x.rows[0], y.rows[0])
        return [_told(x.title, "", "", fields)] if fields else []
    left, right = events_of(x), events_of(y)
    pairs = aligned(left, right)
    found = [(i, j) for i, j in pairs if i is None or j is None or left[i].line != right[j].line]
    if not found:
        return []
    i, j = found[0]
    if i is not None and j is not None:
        return [_told(x.title, _place(x, i), "", _fields(x.rows[i], y.rows[j]), len(found))]
    where, row = (_place(x, i), x.rows[i]) if i is not None else (_place(y, j or 0), y.rows[j or 0])
    texts = [excerpt(repr(value), 0) for _, value in leaves(row)][:1]
    return [_told(x.title, where, f" is {'extra' if i is None else 'missing'} in head", texts, len(found))]


def _fields(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    return [_output_field(field) for field in compare_fields(left, right)][:SHOWN]


def _only_moved(x: Output, y: Output) -> bool:
    """Tell whether a stream has the same lines in another order: threads print in any order."""
    if x.name not in STREAMS:
        return False
    return Counter(str(row["line"]) for row in x.rows) == Counter(str(row["line"]) for row in y.rows)


def events_of(output: Output) -> Sequence[Event]:
    """Return rows as events: those that belong together have one kind."""
    return [Event(str(row.get("tag", "row")), None, row) for row in output.rows]


def _place(output: Output, index: int) -> str:
    """Name the place of a row."""
    row = output.rows[index]
    if output.kind == "tensorboard":
        return f"{row.get('tag')}, step {row.get('step')}"
    return f"{'line' if output.kind in ('text', 'json lines') else 'row'} {index + 1}"
