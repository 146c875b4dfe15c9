"""Names of a module that its own code binds by what they are called, as `globals()[name] = value` does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.program.nodes import called_name, children
from codemods.program.source import words

_WORDS = (b"globals", b"vars", b"exec", b"__name__")
_HINTS = re.compile(rb"\bglobals\b|\bvars\(\s*\)|\bexec\b|modules\s*\[\s*__name__")
_READING = frozenset(["get", "items", "keys", "values", "copy", "__contains__", "__getitem__"])
_WRITING = frozenset(["__dict__", "__setattr__", "__delattr__"])
_READERS = words("""
    eval __import__ dict len list set sorted getattr hasattr dir getmembers isinstance
""")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def may_bind_by_text(data: bytes) -> bool:
    """Does a file say what may do so? Words are looked for first, which is quicker than the pattern."""
    return any(word in data for word in _WORDS) and _HINTS.search(data) is not None


def bound_by_text(tree: ast.Module) -> frozenset[str] | None:
    """Those names; None if it may be any."""
    found = set[str]()
    for name in _bound(tree):
        if name is None:
            return None
        found.add(name)
    return frozenset(found)


def _bound(tree: ast.Module) -> Iterator[str | None]:
    waiting: list[tuple[ast.AST, ast.AST, bool]] = [(child, tree, False) for child in children(tree)]
    while waiting:
        node, parent, inside = waiting.pop()
        if _is_module(node, inside):
            yield from _by(node, parent)
        elif (
            isinstance(node, ast.Call) and called_name(node) == "exec" and not inside and len(node.args) == 1
        ):
            yield None
        inside = inside or isinstance(node, _FUNCTIONS)
        waiting += ((child, node, inside) for child in children(node))


def _is_module(node: ast.AST, inside: bool) -> bool:
    """Is it the module's namespace, or the module itself?"""
    match node:
        case ast.Call(ast.Name("globals"), []):
            return True
        case ast.Call(ast.Name("vars" | "locals"), [], []):
            return not inside
        case ast.Subscript(ast.Attribute(_, "modules") | ast.Name("modules"), ast.Name("__name__")):
            return True
    return False


def _by(node: ast.AST, parent: ast.AST) -> Iterator[str | None]:
    """Names that are bound where the module stands in a larger expression or statement."""
    match parent:
        case ast.Subscript(value, place) if value is node:
            if not isinstance(parent.ctx, ast.Load):
                yield _text(place)
        case ast.Attribute(_, name):
            if not isinstance(parent.ctx, ast.Load):
                yield name
            elif name in _WRITING or (isinstance(node, ast.Call) and name not in _READING):
                yield None
        case ast.Call(_, [first, place, *_]) if first is node and called_name(parent) in (
            "setattr",
            "delattr",
        ):
            yield _text(place)
        case ast.Call():
            if called_name(parent) not in _READERS:
                yield None
        case ast.keyword(None) | ast.Compare() | ast.For() | ast.comprehension() | ast.Expr():
            return
        case _:
            yield None


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
