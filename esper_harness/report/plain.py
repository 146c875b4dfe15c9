"""Plain text: text from elsewhere, made harmless to read, and columns."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence

LONGEST = 400
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str, longest: int = LONGEST) -> str:
    """Write text in one line: hidden and broken characters spelled out, the end cut off if long."""
    clipped = text[:longest]
    shown = "".join(_spelled(c) if unicodedata.category(c) in _HIDDEN else c for c in clipped)
    return shown if len(text) <= longest else f"{shown} … ({len(text) - longest:,} more characters)"


def many(count: int, noun: str) -> str:
    """Write a number of things."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def ordinal(number: int) -> str:
    """Write the place of a thing in a row, the first one at 1."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def listed(things: Iterable[object], most: int, joint: str = ", ") -> str:
    """Write the first of some things, and how many more there are."""
    names = list(map(str, things))
    return joint.join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def hint(word: str, known: Sequence[str]) -> str:
    """Say which of some words was probably meant, else all that there are."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known are {', '.join(known)}" if known else ""


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Align rows in columns, the last one ragged."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
