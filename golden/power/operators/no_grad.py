"""Gradients recorded where they should not be."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "no_grad or inference_mode dropped"
MAKES = (
    ("with torch.no_grad():\n    f()\n", "with torch.enable_grad():\n    f()\n"),
    ("@torch.inference_mode()\ndef f(): pass\n", "@torch.enable_grad()\ndef f(): pass\n"),
)
LEAVES = ("with torch.autocast('cpu'):\n    f()\n", "from torch import no_grad\n", "torch.no_grad\n")

_CALL = m.Call(func=m.Attribute(attr=m.Name("no_grad") | m.Name("inference_mode")), args=[])


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The context that does the opposite."""
    if m.matches(node, _CALL):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        yield source.replace(node.func.attr, "enable_grad")
