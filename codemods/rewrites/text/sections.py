"""Headings in comments under which nothing is left."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.nodes import first_line
from codemods.program.source import Source
from codemods.rewrites.text.layout import SECTION


def without_empty_sections(before: Source, now: Source) -> str:
    """A file's text without the headings whose definitions have left it."""
    there = {_text(before, rows) for rows in _empty(before)}
    gone = [rows for rows in _empty(now) if _text(now, rows) not in there]
    lines = list(now.lines)
    for rows in reversed(gone):
        end = rows.stop
        while end < len(lines) and not lines[end].strip():
            end += 1
        del lines[rows.start : end]
        above = rows.start
        while above > 0 and not lines[above - 1].strip():
            above -= 1
        imports = any(
            isinstance(s, (ast.Import, ast.ImportFrom)) and s.end_lineno == above for s in now.tree.body
        )
        if imports and rows.start < len(lines) and lines[rows.start].startswith("#"):
            # One blank line sets a heading apart from imports.
            del lines[above + 1 : rows.start]
    return "".join(lines)


def _empty(source: Source) -> Iterator[range]:
    """The rows (from 0) of headings that another heading, or nothing, follows."""
    for start, end in _gaps(source.tree, len(source.lines)):
        found = list(_paragraphs(source, start, end))
        for number, rows in enumerate(found):
            last = number + 1 == len(found)
            if _is_heading(source, rows) and (
                end == len(source.lines) if last else _is_heading(source, found[number + 1])
            ):
                yield rows


def _gaps(tree: ast.Module, count: int) -> Iterator[tuple[int, int]]:
    """Rows between top-level statements."""
    at = 0
    for statement in tree.body:
        if first_line(statement) - 1 > at:
            yield at, first_line(statement) - 1
        at = max(at, statement.end_lineno or 0)
    if at < count:
        yield at, count


def _paragraphs(source: Source, start: int, end: int) -> Iterator[range]:
    """Comments of the top level that stand together."""
    first: int | None = None
    for row in range(start, end):
        comment = source.lines[row].startswith("#")
        if comment and first is None:
            first = row
        elif not comment and first is not None:
            yield range(first, row)
            first = None
    if first is not None:
        yield range(first, end)


def _is_heading(source: Source, rows: range) -> bool:
    return any(SECTION.match(source.lines[row]) for row in rows)


def _text(source: Source, rows: range) -> str:
    return "".join(source.lines[row] for row in rows)
