"""A clone left out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "a clone left out: two names for one tensor"
MAKES = (
    ("y = (a + b).clone()\n", "y = (a + b)\n"),
    ("y = x.clone()\n", "y = x\n"),
    ("state = {k: v.clone() for k in v}\n", "state = {k: v for k in v}\n"),
)
LEAVES = ("y = repository.clone(url)\n", "y = clone(x)\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """What it is called on, alone."""
    yield from source.without_call(node, "clone")
