"""Alignment of the items of two sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile


def blocks(a: Sequence[str], b: Sequence[str], at_most: int) -> list[tuple[int, int, int]]:
    """Return stretches of equal items as their places and length; the last one is empty, at the end.

    SequenceMatcher is quadratic in the worst case: where more than ``at_most`` are left between equal starts
    and ends, they are matched place by place.
    """
    start = _equal(a, b)
    end = _equal(a[start:][::-1], b[start:][::-1])
    x, y = a[start : len(a) - end], b[start : len(b) - end]
    if max(len(x), len(y)) > at_most:
        found = [(i, i, 1) for i, (one, other) in enumerate(zip(x, y, strict=False)) if one == other]
    else:
        matched = SequenceMatcher(None, x, y, autojunk=False).get_matching_blocks()
        found = [(block.a, block.b, block.size) for block in matched]
    between = [(start + i, start + j, size) for i, j, size in found]
    return [(0, 0, start), *between, (len(a) - end, len(b) - end, end), (len(a), len(b), 0)]


def _equal(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def gaps(a: Sequence[str], b: Sequence[str], at_most: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield stretches between equal ones, as places of both sides."""
    x = y = 0
    for i, j, size in blocks(a, b, at_most):
        if i > x or j > y:
            yield x, i, y, j
        x, y = i + size, j + size


def pairs(a: Sequence[str], b: Sequence[str], at_most: int) -> Iterator[tuple[int | None, int | None]]:
    """Yield all places of both sides in order: those of equal items together, the others alone."""
    x = y = 0
    for i, j, size in blocks(a, b, at_most):
        yield from ((k, None) for k in range(x, i))
        yield from ((None, k) for k in range(y, j))
        yield from ((i + k, j + k) for k in range(size))
        x, y = i + size, j + size
