"""Branches of an ``if`` by its spelling, whatever its values are."""

from __future__ import annotations

import ast
from typing import NamedTuple

from codemods.hotpath.loops import asks_for_device, only_fences


class Branch(NamedTuple):
    """One ``if``.

    Attributes:
        fences: it does nothing but wait.
        asks: its test asks if there is a device.
        without: its test holds only where there is no device (True), or only where there is one (False).
        rare: its test may hold every so many rounds only, or almost always.
        narrows: its test may say something about the type of a variable.
        ends: its body ends with an error, or ends the program.
        lazy: its body makes an attribute that is not there yet, so once.
    """

    fences: bool
    asks: bool
    without: bool | None
    rare: bool
    narrows: bool
    ends: bool
    lazy: bool


def branch_of(node: ast.If) -> Branch:
    """Classify an ``if`` by its test."""
    test = node.test
    last = node.body[-1]
    return Branch(
        fences=only_fences([node]),
        asks=asks_for_device(test),
        without=_without_device(test),
        rare=_counts(test),
        narrows=narrows(test),
        ends=_ends(last),
        lazy=_lazy(test, node.body),
    )


def _ends(last: ast.stmt) -> bool:
    """Tell whether a block ends with an error, or the program; in one of two branches is enough."""
    match last:
        case ast.Raise():
            return True
        case ast.If(body=[*_, inner], orelse=[*_, ast.Return() | ast.Raise()]):
            return _ends(inner)
    return ends_program(last)


def _lazy(test: ast.expr, body: list[ast.stmt]) -> bool:
    """Tell whether an attribute is made where there is none yet: ``if not hasattr(self, "table"): ...``."""
    match test:
        case ast.UnaryOp(ast.Not(), ast.Call(ast.Name("hasattr"), [_, ast.Constant(str(name))])):
            return any(
                name in (getattr(node, "attr", None), getattr(node, "value", None))
                for statement in body
                for node in ast.walk(statement)
            )
    return False


def _counts(test: ast.expr) -> bool:
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return _counts(operand)
        case ast.BoolOp(values=values):
            return any(map(_counts, values))
        case ast.BinOp(_, ast.Mod(), _) | ast.Compare(ast.BinOp(_, ast.Mod(), _)) | ast.Name() | ast.Call():
            return True
        case ast.Compare(ast.Name(), [ast.Eq()]):
            return True
    return False


def ends_program(node: ast.stmt) -> bool:
    """Tell whether a statement ends the program: ``sys.exit()`` and the like."""
    match node:
        case ast.Expr(ast.Call(ast.Name("exit" | "quit"))):
            return True
        case ast.Expr(
            ast.Call(ast.Attribute(ast.Name("sys"), "exit") | ast.Attribute(ast.Name("os"), "_exit"))
        ):
            return True
    return False


def narrows(test: ast.expr) -> bool:
    """Tell whether a test may say something about the type of a variable."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return narrows(operand)
        case ast.BoolOp(ast.And(), values):
            return any(map(narrows, values))
        case ast.Call(ast.Name("isinstance")) | ast.Call(ast.Attribute(attr="is_tensor")):
            return True
        case ast.Compare(ast.Name(), [ast.Is()], [ast.Constant(None)]):
            return True
        case ast.Compare(ast.Call(ast.Name("type")), [ast.Is() | ast.Eq() | ast.IsNot() | ast.NotEq()]):
            return True
    return False


def _without_device(test: ast.expr) -> bool | None:
    """Tell whether a test holds only where there is no device (True), or only where there is one (False)."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            inner = _without_device(operand)
            return None if inner is None else not inner
        case ast.Compare(ast.Attribute(attr="type"), [op], [ast.Constant(value)]) if value in ("cpu", "cuda"):
            if isinstance(op, (ast.Eq, ast.NotEq)):
                return (value == "cpu") == isinstance(op, ast.Eq)
        case ast.Attribute(attr="is_cuda"):
            return False
        case ast.Attribute(attr="is_cpu"):
            return True
        case ast.Call(ast.Attribute(ast.Attribute(attr="cuda"), "is_available")):
            return False
    return None
