"""A clone left out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "a clone left out: two names for one tensor"
MAKES = (
    ("y = (a + b).clone()\n", "y = (a + b)\n"),
    ("y = x.clone()\n", "y = x\n"),
    ("state = {k: v.clone() for k in v}\n", "state = {k: v for k in v}\n"),
)
LEAVES = ("y = repository.clone(url)\n", "y = clone(x)\n")

_CALL = m.Call(func=m.Attribute(attr=m.Name("clone")), args=[])


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """What it is called on, alone."""
    if m.matches(node, _CALL):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        yield Edit(source.span(node.func.dot)[0], source.span(node)[1], b"")
