"""Moments at which events were written: before which backward pass or optimizer step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# The number of an optimizer step, and within it a point: its backward passes in order, then the step itself.
# At last how many steps came before it in that place that the other side of a comparison did not take.
Moment = tuple[int, int, int]
# By event file, how many of its lines were there at each point of a step.
Written = Mapping[str, Sequence[int]]


def moments(
    files: Mapping[str, int], events: int, steps: Sequence[tuple[int, Written | None]]
) -> list[Moment | None]:
    """For every event the first point at which it was there; the one after the last step if none.

    ``files`` gives the first event of each file; ``steps`` are numbers of steps with what was written then.
    None for all events if that was not noted.
    """
    found: list[Moment | None] = [None] * events
    if not files or any(written is None for _, written in steps):
        return found
    last = (steps[-1][0] + 1, 0, 0) if steps else (0, 0, 0)
    starts = sorted(files.items(), key=lambda item: item[1])
    ends = [start for _, start in starts[1:]] + [events]
    for (name, start), end in zip(starts, ends, strict=True):
        place = start
        for number, written in steps:
            for point, count in enumerate((written or {}).get(name, ())):
                while place < min(start + count, end):
                    found[place] = (number, point, 0)
                    place += 1
        found[place:end] = [last] * (end - place)
    return found


def later(left: Moment | None, right: Moment | None) -> Moment | None:
    """Return the later of two points; None if one is not known."""
    return None if left is None or right is None else max(left, right)
