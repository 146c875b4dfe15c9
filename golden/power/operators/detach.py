"""A detach left out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "a detach left out: gradients flow where none should"
MAKES = (
    ("y = (a + b).detach()\n", "y = (a + b)\n"),
    ("y = x.detach()\n", "y = x\n"),
    ("y = net(x.detach(), a).detach().cpu()\n", "y = net(x.detach(), a).cpu()\n"),
)
LEAVES = ("y = detach(x)\n", "y = x.detach_()\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """What it is called on, alone."""
    yield from source.without_call(node, "detach")
