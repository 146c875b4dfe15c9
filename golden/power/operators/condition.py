"""A branch that is taken where it should not be, or two conditions joined the other way."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "a condition negated, or joined by the other of and/or"
MAKES = (
    ("if ready:\n    go()\n", "if not (ready):\n    go()\n"),
    ("if not ready:\n    go()\n", "if ready:\n    go()\n"),
    ("x = a if best else b\n", "x = a if not (best) else b\n"),
    ("ok = a and b\n", "ok = a or b\n"),
    ("ok = a or b\n", "ok = a and b\n"),
)
# The operator of comparisons negates these; a loop that never ends shows nothing.
LEAVES = ("if a == b:\n    go()\n", "while busy:\n    go()\n", "assert ready\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The negation of a test, the other connective."""
    if isinstance(node, cst.And):
        yield source.token(node, "and", "or")
    elif isinstance(node, cst.Or):
        yield source.token(node, "or", "and")
    elif isinstance(node, cst.If | cst.IfExp):
        test = node.test
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            yield source.replace(test, source.text(test.expression))
        elif not isinstance(test, cst.Comparison | cst.BooleanOperation):
            yield source.replace(test, f"not ({source.text(test)})")
