"""Take names out of import statements, and statements that import nothing then; mark those that only look
unused.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Set
from functools import partial

from codemods.program.globals import ImportNode, is_type_checking
from codemods.program.source import Source
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import without_names


def import_statements(tree: ast.Module) -> Iterator[ImportNode]:
    """Imports of the top level, those for type checkers included."""
    for statement in tree.body:
        if isinstance(statement, ast.If) and is_type_checking(statement.test):
            yield from (inner for inner in statement.body if isinstance(inner, (ast.Import, ast.ImportFrom)))
        elif isinstance(statement, ast.Import) or (
            isinstance(statement, ast.ImportFrom) and statement.module != "__future__"
        ):
            yield statement


def mark_imports(source: Source, statements: Collection[ast.stmt]) -> str:
    """A file's text with a comment at some imports that keeps linters from dropping them."""
    lines = list(source.lines)
    for statement in statements:
        row = lines[statement.lineno - 1]
        bare = row.rstrip("\r\n")
        if not bare.endswith("\\"):
            lines[statement.lineno - 1] = f"{bare}  # noqa: F401{row[len(bare) :]}"
    return "".join(lines)


def drop_imports(source: Source, gone: Set[ast.alias]) -> str:
    """A file's text without some names of its imports.

    Raises:
        TextNotPreserved: if libcst would write one of their statements differently.
    """
    numbers = {
        statement: {number for number, alias in enumerate(statement.names) if alias in gone}
        for statement in import_statements(source.tree)
        if not gone.isdisjoint(statement.names)
    }
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
