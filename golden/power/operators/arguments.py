"""Two arguments in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "two neighbouring arguments swapped"
MAKES = (
    ("f(a, b)\n", "f(b, a)\n"),
    ("f(x.a, x.b, 1)\n", "f(x.b, x.a, 1)\n"),
    ("f(old=a, new=b)\n", "f(old=b, new=a)\n"),
)
LEAVES = ("f(a, a)\n", "f(*a, b)\n", "f(a, 1)\n", "isinstance(a, B)\n", "f(a, key=b)\n")

_KIND = (cst.Name, cst.Attribute, cst.Subscript)
_TYPED = ("isinstance", "issubclass", "getattr", "hasattr", "setattr", "print")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Each pair of neighbours that are names, given in the same way."""
    if not isinstance(node, cst.Call) or source.text(node.func) in _TYPED:
        return
    for first, second in pairwise(node.args):
        alike = (first.keyword is None) == (second.keyword is None) and not first.star and not second.star
        names = isinstance(first.value, _KIND) and isinstance(second.value, _KIND)
        if alike and names and source.text(first.value) != source.text(second.value):
            yield source.swap(first.value, second.value)
