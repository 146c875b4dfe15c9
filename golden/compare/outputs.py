"""What two runs printed and wrote: the first line or field of each stream and file that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from golden.compare.events import compare_events, compare_fields
from golden.compare.outcome import Compared, Different, FieldChange, NotComparable, OutputChange
from golden.trace.events import Event
from golden.trace.outputs import STREAMS, Output, leaves
from golden.trace.summary import OutputRows
from golden.trace.trace import Trace


def compare_outputs(left: Trace, right: Trace) -> tuple[list[OutputChange], Compared]:
    """The streams and files that differ, each once, and how much was compared."""
    a, b = ({output.name: output for output in side} for side in (left.outputs, right.outputs))
    switched = {*left.about.without, *right.about.without}
    changes: list[OutputChange] = []
    compared = Compared(uncompared=tuple(sorted(switched)))
    for name in dict.fromkeys([*a, *b]):
        x, y = a.get(name), b.get(name)
        if x is None or y is None:
            one = x or y
            assert one is not None
            if not _left_out(one, switched):
                changes.append(
                    OutputChange(one.title, "extra" if x is None else "missing", "", (), len(one.rows))
                )
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


def compare_output_rows(
    golden: Mapping[str, OutputRows] | None, now: Mapping[str, OutputRows] | None
) -> tuple[list[OutputChange], tuple[str, ...]]:
    """As `compare_outputs` for what a golden keeps of them: changes, and what could not be compared."""
    if golden is None:
        return [], ("output (the golden was recorded without it)",)
    found: list[OutputChange] = []
    unread: list[str] = []
    for title in dict.fromkeys([*golden, *(now or {})]):
        x, y = golden.get(title), (now or {}).get(title)
        if x is None or y is None:
            one = x or y
            assert one is not None
            found.append(OutputChange(title, "extra" if x is None else "missing", "", (), len(one.rows)))
        elif "unread" in (x.kind, y.kind):
            unread.append(title)
        elif x.rows != y.rows:
            if title in STREAMS and Counter(x.rows) == Counter(y.rows):
                unread.append(f"order of lines of {title} (it differs)")
                continue
            a = [Event(row.rpartition(" ")[0], None, {"digest": row}) for row in x.rows]
            b = [Event(row.rpartition(" ")[0], None, {"digest": row}) for row in y.rows]
            changes = compare_events(a, b)
            first = changes[0]
            side, index = (x, first.left) if first.left is not None else (y, first.right)
            assert index is not None
            unit = "line" if x.kind in ("text", "json lines") else "row"
            where = side.rows[index].rpartition(" ")[0] or f"{unit} {index + 1}"
            # What it was is not told by its digest.
            found.append(OutputChange(title, first.change, where, (), len(changes)))
        elif x.nesting and y.nesting and x.nesting != y.nesting:
            found.append(OutputChange(title, "changed", "how its fields are nested", (), 1))
    return found, tuple(unread)


def read_otherwise(old: int, new: int, found: Different) -> NotComparable | None:
    """The verdict where nothing differs but output that was masked and read by other rules on each side."""
    if old == new or not all(isinstance(each, OutputChange) for each in (found.first, *found.rest)):
        return None
    return NotComparable(
        "only output differs, and one side was recorded by an older version that masks and reads output by "
        "other rules: record it again (a golden with `golden record RUN --update`, from the code it is of)",
        found,
    )


def _left_out(output: Output, switched: set[str]) -> bool:
    return (output.name if output.name in ("stdout", "stderr") else "files") in switched


def amount(output: Output) -> int:
    """How many values an output holds."""
    return sum(1 for row in output.rows for _ in leaves(row))


def _compare(x: Output, y: Output) -> list[OutputChange]:
    if x.rows == y.rows and repr(x.rows) == repr(y.rows):
        return []
    if x.is_tree and y.is_tree:
        fields = tuple(compare_fields(x.rows[0], y.rows[0]))
        return [OutputChange(x.title, "changed", "", fields, len(fields))] if fields else []
    changes = compare_events(events_of(x), events_of(y))
    if not changes:
        return []
    first = changes[0]
    side, index = (x, first.left) if first.left is not None else (y, first.right)
    assert index is not None
    fields = first.fields or _whole(first.change, side.rows[index])
    return [OutputChange(x.title, first.change, place(side, index), fields, len(changes))]


def _only_moved(x: Output, y: Output) -> bool:
    """Whether a stream has the same lines in another order: in which order threads print is up to them."""
    if x.name not in STREAMS:
        return False
    return Counter(str(row["line"]) for row in x.rows) == Counter(str(row["line"]) for row in y.rows)


def _whole(change: str, row: object) -> tuple[FieldChange, ...]:
    """A row that one side lacks, as its fields."""
    if change not in ("missing", "extra"):
        return ()
    texts = ((path, repr(value)) for path, value in leaves(row))
    return tuple(
        FieldChange(path, text if change == "missing" else None, text if change == "extra" else None, None)
        for path, text in texts
    )


def events_of(output: Output) -> Sequence[Event]:
    """Rows as events: those that belong together have one kind."""
    return [Event(str(row.get("tag", "row")), None, row) for row in output.rows]


def place(output: Output, index: int) -> str:
    """Where a row is, in words."""
    row = output.rows[index]
    if output.kind == "tensorboard":
        return f"{row.get('tag')}, step {row.get('step')}"
    return f"{'line' if output.kind in ('text', 'json lines') else 'row'} {index + 1}"
