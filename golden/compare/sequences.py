"""Alignment of the items of two sequences."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile


def _blocks(a: Sequence[Hashable], b: Sequence[Hashable], at_most: int) -> list[tuple[int, int, int]]:
    """Return stretches of equal items as their places and length; the last one, maybe empty, is at the end.

    SequenceMatcher is quadratic in the worst case: where more than ``at_most`` are left between equal starts
    and ends, they are matched place by place.
    """
    start = same_start(a, b)
    end = same_start(a[start:][::-1], b[start:][::-1])
    x, y = a[start : len(a) - end], b[start : len(b) - end]
    if max(len(x), len(y)) > at_most:
        found = [(i, i, 1) for i, (one, other) in enumerate(zip(x, y, strict=False)) if one == other]
    else:
        matched = SequenceMatcher(None, x, y, autojunk=False).get_matching_blocks()
        found = [(block.a, block.b, block.size) for block in matched]
    between = [(start + i, start + j, size) for i, j, size in found]
    return [(0, 0, start), *between, (len(a) - end, len(b) - end, end)]


def same_start(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Count the equal items at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


Stretch = tuple[int, int, int, int]


def stretches(a: Sequence[Hashable], b: Sequence[Hashable], at_most: int) -> Iterator[tuple[bool, Stretch]]:
    """Yield equal stretches and those between them in order, as places of both sides."""
    x = y = 0
    for i, j, size in _blocks(a, b, at_most):
        if i > x or j > y:
            yield False, (x, i, y, j)
        x, y = i + size, j + size
        if size:
            yield True, (i, x, j, y)


def pairs(
    a: Sequence[Hashable], b: Sequence[Hashable], at_most: int
) -> Iterator[tuple[int | None, int | None]]:
    """Yield all places of both sides in order: those of equal items together, the others alone."""
    for equal, (x, i, y, j) in stretches(a, b, at_most):
        if equal:
            yield from zip(range(x, i), range(y, j), strict=True)
        else:
            yield from ((k, None) for k in range(x, i))
            yield from ((None, k) for k in range(y, j))
