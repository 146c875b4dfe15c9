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
    numbers: dict[ImportNode, set[int]] = {}
    for alias in gone:
        numbers.setdefault(alias.statement, set()).add(alias.number)
    whole = {s for s in numbers if len(numbers[s]) == len(s.names)}
    blocks = [s for s in source.tree.body if isinstance(s, ast.If) and not s.orelse and whole >= {*s.body}]
    # A block for type checkers that holds nothing goes with its imports.
    inside = {inner for block in blocks for inner in block.body}
    left = numbers.keys() - inside - whole.intersection(source.tree.body)
    program = Program(source, left)
    for statement in (*blocks, *(s for s in source.tree.body if s in whole)):
        program.delete(statement)
    for statement in left:
        if statement in whole:
            program.take_out(statement)
        else:
            program.change(program.nodes[statement], partial(without_names, gone=numbers[statement]))
    return program.text()
