"""Make a file's imports follow definitions that moved."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import partial

import libcst as cst

from codemods.program.source import Source
from codemods.rewrites.text.file import Program, TextNotPreserved
from codemods.rewrites.text.imports import without_names

_MARK = re.compile(r"#\s*noqa\b[^#\n]*", re.IGNORECASE)
Imports = dict[ast.ImportFrom, tuple[frozenset[str], list[str]]]
"""The names that leave an import, and imports in their place."""


def follow(source: Source, imports: Imports) -> str:
    """The text with other imports.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    program = Program(source, [*imports])
    for statement, (gone, new) in imports.items():
        _import(program, statement, gone, new)
    return program.text()


def _import(program: Program, statement: ast.ImportFrom, gone: frozenset[str], new: Sequence[str]) -> None:
    """Take names out of an import, and put others after it."""
    line = program.lines[statement]
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        raise TextNotPreserved(statement.lineno)
    numbers = {number for number, alias in enumerate(statement.names) if alias.name in gone}
    rows = program.source.lines[statement.lineno - 1 : statement.end_lineno]
    marks = [mark.group() for row in rows if (mark := _MARK.search(row)) is not None]
    made = [_statement(text, marks) for text in new]
    if len(numbers) < len(statement.names):
        program.change(program.nodes[statement], partial(without_names, gone=numbers))
    else:
        first = made.pop(0)
        program.change(line, lambda node: first.with_changes(leading_lines=node.leading_lines))
    program.after(statement, lambda: made)


def _statement(text: str, marks: Sequence[str]) -> cst.SimpleStatementLine:
    """An import; what only looks unused does so under its new module, too."""
    made = cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)
    if not marks:
        return made
    end = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(marks[0].rstrip()))
    return made.with_changes(trailing_whitespace=end)
