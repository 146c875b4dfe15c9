"""Take names out of import statements, and statements that import nothing then; mark those that only look
unused.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from codemods.program.source import Source
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import without_names

ImportNode = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Alias:
    """One name that an import statement of the file binds."""

    statement: ImportNode
    number: int
    name: str


def mark_imports(source: Source, statements: Collection[ast.stmt]) -> str:
    """A file's text with a comment at some imports that keeps linters from dropping them."""
    lines = list(source.lines)
    for statement in statements:
        row = lines[statement.lineno - 1]
        bare = row.rstrip("\r\n")
        if not bare.endswith("\\"):
            lines[statement.lineno - 1] = f"{bare}  # noqa: F401{row[len(bare) :]}"
    return "".join(lines)


def drop_imports(source: Source, gone: Collection[Alias]) -> str:
    """A file's text without some imports.

    Raises:
        TextNotPreserved: if libcst would write one of their statements differently.
    """
    numbers: dict[ast.stmt, set[int]] = {}
    for alias in gone:
        numbers.setdefault(alias.statement, set()).add(alias.number)
    # A block for type checkers that holds nothing goes with its imports.
    blocks = [s for s in source.tree.body if isinstance(s, ast.If) and numbers.keys() >= {*s.body}]
    program = Program(source, [*numbers, *blocks])
    for statement in source.tree.body:
        block = statement.body if isinstance(statement, ast.If) else [statement]
        for inner in (inner for inner in block if inner in numbers):
            assert isinstance(inner, (ast.Import, ast.ImportFrom))
            if len(numbers[inner]) < len(inner.names):
                program.change(program.nodes[inner], partial(without_names, gone=numbers[inner]))
            elif inner is statement:
                program.cut(inner)
            else:
                program.take_out(inner)
        if isinstance(statement, ast.If) and not statement.orelse and program.todo.gone >= {*block}:
            program.cut(statement)
    return program.text()
