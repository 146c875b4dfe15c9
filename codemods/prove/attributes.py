"""Undoing objects whose attributes stand for variables, to compare what was rewritten."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from codemods.facts.scopes import Scope
from codemods.prove.code import FUNCTIONS, NotProven


def take_out_making(tree: ast.Module, outer: Scope, at: ast.stmt, variable: str, wanted: list[str]) -> int:
    """Take out the statements that make an object just before a statement of its function; their line.

    Raises:
        NotProven: if they are not there.
    """
    assert isinstance(outer.node, FUNCTIONS)
    index = outer.node.body.index(at)
    made = slice(index, index + len(wanted))
    found = [
        node.body
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        and node.name == outer.name
        and [ast.unparse(statement) for statement in node.body[made]] == wanted
    ]
    if len(found) != 1:
        raise NotProven(f"{variable} is not made where it should be")
    line = found[0][index].lineno
    del found[0][made]
    return line


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
