"""The other of two operations."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "plus for minus, times for divided by, a sum overwritten"
MAKES = (
    ("x = a + b\n", "x = a - b\n"),
    ("x = a - b\n", "x = a + b\n"),
    ("x = a * b\n", "x = a / b\n"),
    ("x = a / b\n", "x = a * b\n"),
    ("x = a // b\n", "x = a / b\n"),
    ("x = a ** b\n", "x = a * b\n"),
    ("x = -a\n", "x = +a\n"),
    ("total += loss\n", "total = loss\n"),
    ("total -= loss\n", "total += loss\n"),
)
# Texts and lists are joined, not added.
LEAVES = ("x = 'a' + b\n", "x = a + [b]\n", "x = f'{a}' + b\n", "text += 'a'\n", "x = a[-1]\n")

_TOKENS: dict[type[cst.CSTNode], tuple[str, str]] = {
    cst.Add: ("+", "-"),
    cst.Subtract: ("-", "+"),
    cst.Multiply: ("*", "/"),
    cst.Divide: ("/", "*"),
    cst.FloorDivide: ("//", "/"),
    cst.Power: ("**", "*"),
    cst.AddAssign: ("+=", "="),
    cst.SubtractAssign: ("-=", "+="),
    cst.MultiplyAssign: ("*=", "="),
    cst.DivideAssign: ("/=", "="),
}
_JOINED = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString, cst.List, cst.Tuple, cst.Dict)


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other operator."""
    if isinstance(node, cst.BinaryOperation):
        if not isinstance(node.left, _JOINED) and not isinstance(node.right, _JOINED):
            yield from source.exchanged(node.operator, _TOKENS)
    elif isinstance(node, cst.AugAssign):
        if not isinstance(node.value, _JOINED):
            yield from source.exchanged(node.operator, _TOKENS)
    elif isinstance(node, cst.Minus) and not _of_number(node, source):
        yield source.token(node, "-", "+")


def _of_number(node: cst.Minus, source: Source) -> bool:
    operation = source.parent(node)
    return isinstance(operation, cst.UnaryOperation) and isinstance(operation.expression, cst.Integer)
