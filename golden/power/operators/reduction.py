"""The wrong one of two reductions."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "mean for sum, max for min, and the other way round"
MAKES = (
    ("loss = x.mean()\n", "loss = x.sum()\n"),
    ("loss = torch.sum(x)\n", "loss = torch.mean(x)\n"),
    ("n = max(a, b)\n", "n = min(a, b)\n"),
    ("best = x.argmin()\n", "best = x.argmax()\n"),
    ("x.clamp(min=0)\n", "x.clamp(max=0)\n"),
    ("f(x, reduction='mean')\n", "f(x, reduction='sum')\n"),
)
LEAVES = ("n = sum(x)\n", "mean = 3\n", "from a import mean\n", "n = x.maximum\n")

_OTHER = {"mean": "sum", "sum": "mean", "max": "min", "min": "max", "amax": "amin", "amin": "amax"}
_OTHER |= {"argmax": "argmin", "argmin": "argmax", "any": "all", "all": "any"}


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The other one."""
    parent = source.parent(node)
    if isinstance(node, cst.Name) and node.value in _OTHER:
        grandparent = source.parent(parent) if parent is not None else None
        method = isinstance(parent, cst.Attribute) and parent.attr is node
        called = isinstance(grandparent, cst.Call) and grandparent.func is parent
        builtin = isinstance(parent, cst.Call) and parent.func is node and node.value not in ("sum", "mean")
        keyword = isinstance(parent, cst.Arg) and parent.keyword is node and node.value in ("max", "min")
        if (method and called) or builtin or (keyword and _clamps(grandparent, source)):
            yield source.replace(node, _OTHER[node.value])
    elif isinstance(node, cst.SimpleString) and isinstance(parent, cst.Arg) and parent.keyword is not None:
        value = node.evaluated_value
        if parent.keyword.value == "reduction" and isinstance(value, str) and value in _OTHER:
            yield source.replace(node, repr(_OTHER[value]))


def _clamps(call: cst.CSTNode | None, source: Source) -> bool:
    return isinstance(call, cst.Call) and "clamp" in source.text(call.func) and len(call.args) == 1
