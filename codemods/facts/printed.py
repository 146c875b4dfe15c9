"""Expressions whose own text the program prints, as ``f"{h(1)=}"`` does."""

from __future__ import annotations

import ast

from codemods.facts.scopes import ScopeTree


def is_printed(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether an f-string around an expression prints the text of it, or of one that holds it."""
    inner: ast.AST = node
    around = tree.parents.get(node)
    while isinstance(around, (ast.expr, ast.keyword, ast.comprehension)):
        if isinstance(around, ast.FormattedValue) and inner is around.value:
            end = tree.source.span(around.value)[1]
            if tree.source.text[end:].lstrip(" \t\f\r\n)").startswith("="):
                return True
        inner, around = around, tree.parents.get(around)
    return False
