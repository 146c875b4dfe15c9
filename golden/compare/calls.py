"""What a process asked of others, on both sides: the first call that differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Literal

from golden.compare.outcome import CallChange, Rows
from golden.trace.calls import CallRows, kept_calls
from golden.trace.trace import Call, Process

NONE = "none"
Kept = Mapping[str, CallRows]
# Of a process that made none, or is not there.
_NONE = CallRows(texts=[], rows=[])


def compare_calls(left: Process, right: Process) -> CallChange | None:
    """The first call that is another one, that sends something else, or that receives something else."""
    return _first(left.name, _paired(left, right))


def compare_kept_calls(
    golden: Kept | None, now: Kept | None
) -> tuple[list[CallChange | Rows], tuple[str, ...]]:
    """The first call of each rank that differs from what a golden keeps, and what could not be compared."""
    if golden is None:
        return [], ("calls of other ranks (the golden keeps none)",) if now is not None else ()
    found: list[CallChange | Rows] = []
    for name in dict.fromkeys([*golden, *(now or {})]):
        a, b = golden.get(name, _NONE), (now or {}).get(name, _NONE)
        if a.whole or b.whole:
            first = next((i for i, (x, y) in enumerate(zip_longest(a.rows, b.rows)) if x != y), None)
            if first is not None:
                x, y = (side.rows[first] if first < len(side.rows) else NONE for side in (a, b))
                found.append(Rows(f"calls of other ranks before step {first} overall of {name}", x, y))
            continue
        left, right = kept_calls(a), kept_calls(b)
        if not left or not right:
            missing: list[tuple[Call, ...]] = [()] * max(len(left), len(right))
            left, right = left or missing, right or missing
        # Behind the last step are calls that another number of steps puts elsewhere.
        numbers = [*range(min(len(left), len(right)) - 1), *([None] if len(left) == len(right) else [])]
        change = _first(name, zip(numbers, left, right, strict=False))
        found += [change] if change is not None else []
    return found, ()


def _first(
    name: str, paired: Iterable[tuple[int | None, tuple[Call, ...], tuple[Call, ...]]]
) -> CallChange | None:
    for number, a, b in paired:
        for index, (x, y) in enumerate(zip_longest(a, b)):
            found = _compare(x, y)
            if found is not None:
                change, before, now = found
                points = [call.point for call in (x, y) if call is not None]
                # What is given was made by then on both sides; what is received may be used from then on.
                point = min(points) if change == "gets" else max(points)
                return CallChange(name, change, number, index, before, now, point)
    return None


def _paired(left: Process, right: Process) -> Iterator[tuple[int | None, tuple[Call, ...], tuple[Call, ...]]]:
    for a, b in zip(left.steps, right.steps, strict=False):
        yield a.number, a.calls, b.calls
    if len(left.steps) == len(right.steps):
        yield None, left.calls, right.calls


def _compare(x: Call | None, y: Call | None) -> tuple[Literal["sequence", "gives", "gets"], str, str] | None:
    if x is None or y is None or x.text != y.text:
        return "sequence", x.text if x else NONE, y.text if y else NONE
    if x.gives != y.gives:
        return "gives", x.text, y.text
    if x.gets != y.gets:
        return "gets", x.text, y.text
    return None
