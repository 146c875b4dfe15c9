"""A detach left out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "a detach left out: gradients flow where none should"
MAKES = (
    ("y = (a + b).detach()\n", "y = (a + b)\n"),
    ("y = x.detach()\n", "y = x\n"),
    ("y = net(x.detach(), a).detach().cpu()\n", "y = net(x.detach(), a).cpu()\n"),
)
LEAVES = ("y = detach(x)\n", "y = x.detach_()\n")

_CALL = m.Call(func=m.Attribute(attr=m.Name("detach")), args=[])


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """What it is called on, alone."""
    if m.matches(node, _CALL):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        yield Edit(source.span(node.func.dot)[0], source.span(node)[1], b"")
