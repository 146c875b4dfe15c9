"""Edits of a source text, and moving a block to another depth without touching what is inside strings."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codemods.facts.source import split_lines


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace ``text[start:end]``; an insertion has ``start == end``."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """The part of a text from ``start`` to ``end`` with all edits in it; an edit inside a replaced part is
    dropped, one before it is not.
    """
    stop = len(text) if end is None else end
    parts, at = [], start
    for edit in sorted(edits, key=lambda e: (e.start, e.end > e.start, -e.end)):
        if edit.start < at or edit.start < start or edit.end > stop:
            if edit.start >= at and start <= edit.start < stop:
                raise ValueError("an edit crosses the end of the part")
            continue
        parts.append(text[at : edit.start])
        parts.append(edit.text)
        at = edit.end
    parts.append(text[at:stop])
    return "".join(parts)


def reindent(text: str, old: str, new: str) -> str:
    """Move a block from one indentation to another; lines that start inside a string stay as they are."""
    lines = split_lines(text)
    inside = set(string_lines(lines))
    moved = []
    for number, line in enumerate(lines, 1):
        if number in inside or not line.strip():
            moved.append(line)
        elif line.startswith(old):
            moved.append(new + line[len(old) :])
        else:
            moved.append(new + line.lstrip(" \t"))
    return "".join(moved)


def tokens(lines: list[str]) -> Iterator[tokenize.TokenInfo]:
    """Tokens of lines whatever their line ends; rows from 1, columns in characters."""
    plain = (line.rstrip("\r\n") + "\n" for line in lines)
    return tokenize.generate_tokens(lambda: next(plain, ""))


def string_lines(lines: list[str]) -> Iterator[int]:
    """Numbers of the lines that begin inside a string."""
    opened: list[int] = []
    for token in tokens(lines):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            yield from range(token.start[0] + 1, token.end[0] + 1)
        elif kind.endswith("STRING_START"):
            opened.append(token.start[0])
        elif kind.endswith("STRING_END"):
            yield from range(opened.pop() + 1, token.end[0] + 1)
