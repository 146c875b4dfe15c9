"""Lists of names, written as rows of words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def having(*names: str, within: bytes | None = None) -> Callable[[bytes], bool]:
    """Make a test whether a file has one of some words, or something that matches a pattern ``within`` which
    they stand; most files have not even the letters of one.
    """
    given = [name.encode() for name in names]
    pattern = rb"\b(%b)\b" % b"|".join(map(re.escape, given)) if within is None else within

    @functools.lru_cache(maxsize=4096)
    def has(data: bytes) -> bool:
        for word in given:
            if word in data:
                return re.search(pattern, data) is not None
        return False

    return has
