"""Which line of a file a line was before something was taken out of the file or put into it."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import cache

from codemods.facts.source import Source


def line_before(source: Source, left: Source) -> Callable[[int], int]:
    """The line of ``source`` for each line of what is left of it."""

    @cache
    def blocks() -> list[tuple[int, int, int, int]]:
        pairs = difflib.SequenceMatcher(None, source.lines, left.lines)
        return [(a, b, c, d) for _, a, b, c, d in pairs.get_opcodes()]

    def line(number: int) -> int:
        if left.text == source.text:
            return number
        for start, end, first, last in blocks():
            if first <= number - 1 < last:
                return min(start + (number - 1 - first), max(start, end - 1)) + 1
        return number

    return line
