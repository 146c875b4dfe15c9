"""A loop that goes round once less, or goes on where it should end."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "a loop without its last round; break for continue, and the other way round"
MAKES = (
    ("for i in range(n):\n    f(i)\n", "for i in range((n) - 1):\n    f(i)\n"),
    ("for i in range(1, n):\n    f(i)\n", "for i in range(1, (n) - 1):\n    f(i)\n"),
    ("for i in x:\n    break\n", "for i in x:\n    continue\n"),
    ("for i in x:\n    continue\n", "for i in x:\n    break\n"),
)
# Numbers are the operator of constants', and a while loop might never end.
LEAVES = ("for i in range(3):\n    f(i)\n", "while True:\n    break\n", "for i in x:\n    f(i)\n")

_RANGE = m.Call(func=m.Name("range"))


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The bound of a range less one, the other jump."""
    if isinstance(node, cst.Call) and m.matches(node, _RANGE) and 1 <= len(node.args) <= 2:
        bound = node.args[-1].value
        if not isinstance(bound, cst.Integer) and not node.args[-1].star:
            yield source.replace(bound, f"({source.text(bound)}) - 1")
    elif isinstance(node, cst.Break | cst.Continue) and _in_for(node, source):
        yield source.replace(node, "continue" if isinstance(node, cst.Break) else "break")


def _in_for(node: cst.CSTNode, source: Source) -> bool:
    parent = source.parent(node)
    while parent is not None and not isinstance(parent, cst.While | cst.FunctionDef):
        if isinstance(parent, cst.For):
            return True
        parent = source.parent(parent)
    return False
