"""A number that is off, a flag that says the opposite."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "an integer off by one, a fraction doubled, a flag turned"
MAKES = (
    ("n = 3\n", "n = 4\n"),
    ("x = h[:-1]\n", "x = h[:-2]\n"),
    ("lr = 0.1\n", "lr = 0.2\n"),
    ("eps = 1e-8\n", "eps = 2e-08\n"),
    ("gain = 0.0\n", "gain = 1.0\n"),
    ("fit(shuffle=True)\n", "fit(shuffle=False)\n"),
)
LEAVES = ("name = 'a'\n", "x: list[3]\n", "from a import b\n", "mask = 0xFF\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The neighbour of a number, the other flag."""
    if isinstance(node, cst.Integer) and node.value.isdecimal():
        yield source.replace(node, str(int(node.value) + 1))
    elif isinstance(node, cst.Float):
        value = float(node.value)
        yield source.replace(node, repr(value * 2 if value else 1.0))
    elif isinstance(node, cst.Name) and node.value in ("True", "False"):
        yield source.replace(node, str(node.value == "False"))
