"""Undoing new names, to compare what was moved."""

from __future__ import annotations

import ast
from collections.abc import Mapping


class RenameBack(ast.NodeTransformer):
    """Give names in a tree their old spelling."""

    def __init__(self, old: Mapping[str, str]) -> None:
        self.old = old

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.old.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        node.name = self.old.get(node.name, node.name)
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef
