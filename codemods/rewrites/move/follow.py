"""Make a file's imports follow definitions that moved."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

import libcst as cst

from codemods.program.source import Source
from codemods.rewrites.text.file import Program, TextNotPreserved
from codemods.rewrites.text.imports import without_names

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
    made = [cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine) for text in new]
    if len(numbers) < len(statement.names):
        program.change(program.nodes[statement], partial(without_names, gone=numbers))
    else:
        first = made.pop(0)
        program.change(line, lambda node: node.with_changes(body=first.body))
    program.after(statement, lambda: made)
