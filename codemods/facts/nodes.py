"""The nodes of a tree, without what stands in the millions and says nothing: contexts of names."""

from __future__ import annotations

import ast

# What stands in a node and holds none.
_LEAVES = frozenset([int, str, type(None), ast.Load, ast.Store, ast.Del])
_ENDS = frozenset([ast.Name, ast.Constant])


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in the order of the text."""
    found: list[ast.AST] = []
    if type(node) in _ENDS:
        return found
    for value in node.__dict__.values():
        kind = type(value)
        if kind is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif kind not in _LEAVES and isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, as `ast.walk` gives them."""
    found = [node]
    for each in found:
        found += children(each)
    return found
