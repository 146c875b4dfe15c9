"""A comparison that is off by one, or says the opposite."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "a comparison off by one, or the opposite"
MAKES = (
    ("ok = a < b\n", "ok = a <= b\n"),
    ("ok = a <= b\n", "ok = a < b\n"),
    ("ok = 0 < (a) > b\n", "ok = 0 < (a) >= b\n"),
    ("ok = a == b\n", "ok = a != b\n"),
    ("ok = a is None\n", "ok = a is not None\n"),
    ("ok = a in b\n", "ok = a not in b\n"),
)
LEAVES = ('if __name__ == "__main__":\n    pass\n', "assert a < b\n")

_TOKENS: dict[type[cst.CSTNode], tuple[str, str]] = {
    cst.LessThan: ("<", "<="),
    cst.LessThanEqual: ("<=", "<"),
    cst.GreaterThan: (">", ">="),
    cst.GreaterThanEqual: (">=", ">"),
    cst.Equal: ("==", "!="),
    cst.NotEqual: ("!=", "=="),
    cst.Is: ("is", "is not"),
    cst.In: ("in", "not in"),
}


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other operator."""
    yield from source.exchanged(node, _TOKENS)
    if isinstance(node, cst.IsNot | cst.NotIn):
        yield source.replace(node, "is" if isinstance(node, cst.IsNot) else "in")
