"""A statement without what changes nothing that it does: annotations and docstrings."""

from __future__ import annotations

import ast
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def normalised(statement: Node, *, blocks: bool = True) -> Node:
    """A copy in the one form in which statements are compared; without its `blocks`, its first line alone.

    Annotations of parameters, results and local variables go, and docstrings. Those in a class body stay:
    dataclasses and the like read them.
    """
    if blocks:
        return _copy(statement, False)
    made = _emptied(statement)
    _without_annotations(made)
    return made


def _emptied(node: Node) -> Node:
    fields = {name: [] if name in BLOCKS else _value(value, False) for name, value in ast.iter_fields(node)}
    made = type(node)(**fields)
    ast.copy_location(made, node)
    replaced = _without_annotation(made, False)
    assert isinstance(replaced, type(node) | ast.Assign)
    return replaced  # type: ignore[return-value]


def _copy(node: Node, in_class: bool) -> Node:
    inner = isinstance(node, ast.ClassDef) if isinstance(node, _Scope) else in_class
    fields = {name: _value(value, inner) for name, value in ast.iter_fields(node)}
    made = type(node)(**fields)
    ast.copy_location(made, node)
    _without_annotations(made)
    if isinstance(made, _Scope) and ast.get_docstring(made, clean=False) is not None:
        made.body = made.body[1:] or [ast.copy_location(ast.Pass(), node)]
    return _without_annotation(made, in_class)  # type: ignore[return-value]


def _value(value: object, in_class: bool) -> object:
    if isinstance(value, ast.AST):
        return value if isinstance(value, ast.expr_context | ast.operator) else _copy(value, in_class)
    return [_value(item, in_class) for item in value] if isinstance(value, list) else value


def _without_annotations(made: ast.AST) -> None:
    if isinstance(made, ast.FunctionDef | ast.AsyncFunctionDef):
        made.returns = None
    if isinstance(made, ast.arg):
        made.annotation = None


def _without_annotation(made: ast.AST, in_class: bool) -> ast.AST:
    if not isinstance(made, ast.AnnAssign) or in_class:
        return made
    if made.value is None:
        made.annotation = ast.copy_location(ast.Constant(None), made)
        return made
    return ast.copy_location(ast.Assign(targets=[made.target], value=made.value), made)
