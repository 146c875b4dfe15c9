"""A statement without what changes nothing that it does: annotations, docstrings and `pass`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from codemods.program.nodes import DEFINITIONS

Node = TypeVar("Node", bound=ast.AST)
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
# What may hold a statement or an annotation; everything else is shared with the original.
_COPIED = (ast.stmt, ast.ExceptHandler, ast.match_case, ast.arguments, ast.arg)
# Statements that hold neither: they are their own form.
PLAIN = {
    *(ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Delete, ast.Assert),
    *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue),
}


def normalised(statement: Node, *, blocks: bool = True) -> Node:
    """A copy in the one form in which statements are compared; without its `blocks`, its first line alone.

    Annotations of parameters, results and local variables go, and docstrings. Those in a class body stay:
    dataclasses and the like read them. Expressions, and statements that have nothing of that, are those of
    the original: they must not be changed.
    """
    if blocks:
        return _copy(statement, False)
    if type(statement) in PLAIN:
        return statement
    made = _shallow(statement)
    for name in BLOCKS:
        if name in made.__dict__:
            setattr(made, name, [])
    _copy_fields(made, False)
    _without_annotations(made)
    replaced = _without_annotation(made, False)
    assert isinstance(replaced, type(statement) | ast.Assign)
    return replaced  # type: ignore[return-value]


def _copy(node: Node, in_class: bool) -> Node:
    if type(node) in PLAIN:
        return node
    inner = isinstance(node, ast.ClassDef) if isinstance(node, DEFINITIONS) else in_class
    made = _shallow(node)
    _copy_fields(made, inner)
    _without_annotations(made)
    if isinstance(made, DEFINITIONS) and ast.get_docstring(made, clean=False) is not None:
        made.body = made.body[1:] or [ast.copy_location(ast.Pass(), node)]
    return _without_annotation(made, in_class)  # type: ignore[return-value]


def _shallow(node: Node) -> Node:
    made = type(node).__new__(type(node))
    made.__dict__.update(node.__dict__)
    return made


def _copy_fields(made: ast.AST, in_class: bool) -> None:
    for name, value in made.__dict__.items():
        if isinstance(value, list):
            copies = [_copy(item, in_class) if isinstance(item, _COPIED) else item for item in value]
            # A `pass` beside other statements does nothing.
            made.__dict__[name] = [item for item in copies if type(item) is not ast.Pass] or copies[:1]
        elif isinstance(value, _COPIED):
            made.__dict__[name] = _copy(value, in_class)


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


def written(node: object, change: Callable[[ast.AST], ast.AST] | None = None) -> str:
    """A tree as a text, the same from every version of Python: as `ast.dump` of 3.11 writes it.

    Each node is given to `change` before it is written; contexts are not.
    """
    if not isinstance(node, ast.AST):
        return repr(node)
    if change is not None:
        node = change(node)
    kind, values = type(node), node.__dict__
    if kind is ast.Name:
        return f"Name(id={values['id']!r}, ctx={type(values['ctx']).__name__}())"
    if kind is ast.Attribute:
        owner, context = written(values["value"], change), type(values["ctx"]).__name__
        return f"Attribute(value={owner}, attr={values['attr']!r}, ctx={context}())"
    if kind is ast.Constant and values.get("kind") is None:
        return f"Constant(value={values['value']!r})"
    if kind is ast.Call:
        given = ", ".join([written(item, change) for item in values["args"]])
        named = ", ".join([written(item, change) for item in values["keywords"]])
        return f"Call(func={written(values['func'], change)}, args=[{given}], keywords=[{named}])"
    parts = []
    for name, needed in _FIELDS[kind]:
        value = values.get(name)
        if value is None:
            if needed:
                parts.append(f"{name}=None")
        elif type(value) is list:
            if value or name != "type_params":
                parts.append(f"{name}=[{', '.join([written(item, change) for item in value])}]")
        elif name == "ctx":
            parts.append(f"ctx={type(value).__name__}()")
        else:
            parts.append(f"{name}={written(value, change)}")
    return f"{kind.__name__}({', '.join(parts)})"


class _Fields(dict[type[ast.AST], list[tuple[str, bool]]]):
    """The fields of each kind of node, and whether one must be there: only what may be left out is."""

    def __missing__(self, kind: type[ast.AST]) -> list[tuple[str, bool]]:
        self[kind] = [(name, getattr(kind, name, ...) is not None) for name in kind._fields]
        return self[kind]


_FIELDS = _Fields()
