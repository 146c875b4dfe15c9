"""Take names out of declarations, for variables that become attributes or parameters."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

import libcst as cst

from codemods.program.scopes import ScopeTree
from codemods.rewrites.text.file import Program


def take_names(program: Program, tree: ScopeTree, statement: ast.Nonlocal, gone: Collection[str]) -> None:
    """Take names out of a nonlocal declaration, or all of it where its line and block have no need of it."""
    left = [name for name in statement.names if name not in gone]
    line = program.lines[statement]
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    remarked = isinstance(line, cst.SimpleStatementLine) and line.trailing_whitespace.comment is not None
    if not left and alone and not remarked and _is_spare(tree, statement):
        program.drop(statement)
        return

    def change(node: Any) -> cst.BaseSmallStatement:
        if not left:
            return cst.Pass(semicolon=node.semicolon)
        items = [cst.NameItem(cst.Name(name)) for name in left]
        return cst.Nonlocal(items, semicolon=node.semicolon)

    program.change(program.nodes[statement], change)


def _is_spare(tree: ScopeTree, statement: ast.stmt) -> bool:
    """Whether a block can do without its nonlocal statements, and no string would become a docstring."""
    block = tree.blocks[statement]
    others = [each for each in block if not isinstance(each, ast.Nonlocal)]
    if not others:
        return False
    value = others[0].value if isinstance(others[0], ast.Expr) else None
    text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return not (text and block.index(statement) < block.index(others[0]))
