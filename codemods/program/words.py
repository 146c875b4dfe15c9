"""Lists of names, written as rows of words."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
