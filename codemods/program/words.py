"""Lists of names, written as rows of words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def having(*names: str) -> Callable[[bytes], bool]:
    """Make a test whether a file has one of some words; most files have not even the letters of one."""
    given = [name.encode() for name in names]
    pattern = re.compile(rb"\b(%b)\b" % b"|".join(map(re.escape, given)))

    @functools.lru_cache(maxsize=4096)
    def has(data: bytes) -> bool:
        return any(word in data for word in given) and pattern.search(data) is not None

    return has
