"""Take names out of import statements, and statements that import nothing then; mark those that only look
unused.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

import libcst as cst

from codemods.program.source import Source
from codemods.rewrites.imports.unneeded import Alias
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import without_names
from codemods.rewrites.text.layout import room


def mark_imports(source: Source, statements: Collection[ast.stmt]) -> str:
    """A file's text with a comment at some imports that keeps linters from dropping them.

    Raises:
        TextNotPreserved: if libcst would write one of the statements differently.
    """
    program = Program(source, statements)
    for statement in statements:
        program.change(program.lines[statement], _marked)
    return program.text()


def _marked(line: Any) -> cst.CSTNode:
    node = line.body[0]
    if isinstance(node, cst.ImportFrom) and node.lpar is not None:
        gap = node.lpar.whitespace_after
        if not isinstance(gap, cst.ParenthesizedWhitespace):
            return cst.ensure_type(line, cst.SimpleStatementLine)
        lpar = node.lpar.with_changes(
            whitespace_after=gap.with_changes(first_line=_with_mark(gap.first_line))
        )
        line = line.with_changes(body=[node.with_changes(lpar=lpar)])
        return cst.ensure_type(line, cst.SimpleStatementLine)
    line = line.with_changes(trailing_whitespace=_with_mark(line.trailing_whitespace))
    return cst.ensure_type(line, cst.SimpleStatementLine)


def _with_mark(end: cst.TrailingWhitespace) -> cst.TrailingWhitespace:
    said = "" if end.comment is None else f"{end.comment.value}  "
    return end.with_changes(whitespace=cst.SimpleWhitespace("  "), comment=cst.Comment(f"{said}# noqa: F401"))


def drop_imports(source: Source, gone: Collection[Alias]) -> str:
    """A file's text without some imports.

    Raises:
        TextNotPreserved: if libcst would write one of their statements differently.
    """
    numbers: dict[ast.stmt, set[int]] = {}
    for alias in gone:
        numbers.setdefault(alias.statement, set()).add(alias.number)
    program = Program(source, numbers)
    for statement in source.tree.body:
        if statement in numbers:
            if _is_whole(statement, numbers[statement]):
                program.cut(statement)
            else:
                _thin(program, statement, numbers[statement])
        elif isinstance(statement, ast.If):
            _block(program, statement, numbers)
    return program.text()


def _is_whole(statement: ast.stmt, cut: Collection[int]) -> bool:
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    return len(cut) == len(statement.names)


def _block(program: Program, block: ast.If, numbers: dict[ast.stmt, set[int]]) -> None:
    """A block of imports for type checkers; one that holds nothing then goes with them."""
    inside = [inner for inner in block.body if inner in numbers]
    empty = len(inside) == len(block.body) and all(_is_whole(inner, numbers[inner]) for inner in inside)
    if empty and not block.orelse:
        program.cut(block)
        return
    for inner in inside:
        if not _is_whole(inner, numbers[inner]):
            _thin(program, inner, numbers[inner])
        elif empty and inner is inside[0]:
            program.take_out(inner)
        else:
            program.drop(inner)


def _thin(program: Program, statement: ast.stmt, cut: Collection[int]) -> None:
    """Leave some names out of a statement."""
    width = room(program.source, statement.lineno)
    program.change(program.nodes[statement], lambda node: without_names(node, cut, width))
