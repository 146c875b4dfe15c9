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
    # A pattern that begins with the letters is found many times faster.
    whole = {word: rb"%b\b(?<=\b%b)" % (re.escape(word), re.escape(word)) for word in given}

    @functools.lru_cache(maxsize=4096)
    def has(data: bytes) -> bool:
        there = [word for word in given if word in data]
        forms = [within] if there and within is not None else [whole[word] for word in there]
        return any(re.search(form, data) is not None for form in forms)

    return has
