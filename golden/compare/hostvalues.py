"""What the host reads: the first step before which a read gives another value on the two sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

from golden.compare.outcome import ReadValue, ValueChange
from golden.trace.streams import Stream
from golden.trace.trace import Process, Site, Step

Values = Mapping[Site, str] | None
Grouped = Mapping[Stream, Sequence[Step]]


def compare_values(
    left: Process, right: Process, of_left: Grouped, of_right: Grouped
) -> tuple[list[ReadValue], tuple[str, ...]]:
    """The first reads that differ, if any do, and what could not be compared.

    A read that moved to another place is the same read, and one more or less is a difference of numbers.
    """
    if (left.reads is not None and left.values is None) or (right.reads is not None and right.values is None):
        return [], ("values that the host reads",)
    first: ReadValue | None = None
    for stream in (s for s in of_left if s in of_right):
        for index, (x, y) in enumerate(zip(of_left[stream], of_right[stream], strict=False)):
            if first is not None and first.number is not None and x.number >= first.number:
                break
            changes = value_changes(x.values, y.values)
            if changes:
                first = ReadValue(left.name, stream, index, x.number, changes)
                break
    if first is None and (changes := value_changes(left.values, right.values)):
        first = ReadValue(left.name, None, 0, None, changes)
    return ([first] if first is not None else []), ()


def value_changes(left: Values, right: Values) -> tuple[ValueChange, ...]:
    """The places that read other values; what is read at another place is matched first."""
    if left is None or right is None or left == right:
        return ()
    a, b = Counter(left.values()), Counter(right.values())
    x, y = _rest(left, a - b), _rest(right, b - a)
    found = []
    for key in _KEYS:
        for site in list(x):
            other = next((o for o in y if key(o) == key(site)), None)
            if other is not None:
                found.append(ValueChange(other.title, x.pop(site), y.pop(other)))
    return tuple(found)


_KEYS: tuple[Callable[[Site], Hashable], ...] = (
    lambda s: s,
    lambda s: (s.file, s.function, s.read),
    lambda s: (s.function.rpartition(".")[2], s.read),
    lambda s: s.read,
)


def _rest(side: Mapping[Site, str], without: Counter[str]) -> dict[Site, str]:
    """The sites whose values the other side has not read."""
    found = {}
    for site, text in side.items():
        if without[text]:
            without[text] -= 1
            found[site] = text
    return found
