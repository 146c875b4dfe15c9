"""Undoing attributes that stand for variables, to compare what was rewritten."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from codemods.prove.code import NotProven


class VariablesBack(ast.NodeTransformer):
    """Use variables again where attributes of objects are used; counts them."""

    def __init__(self, variables: Mapping[str, Collection[str]], *, stored: bool) -> None:
        """``variables`` are those that each object has, by its name; ``stored``: it may be given them."""
        self.variables = variables
        self.stored = stored
        self.count = 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.variables:
            allowed = self.stored or isinstance(node.ctx, ast.Load)
            if node.attr not in self.variables[node.value.id] or not allowed:
                raise NotProven(f"{node.attr} is no variable of {node.value.id}")
            self.count += 1
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node
