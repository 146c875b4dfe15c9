"""A call whose result nobody takes, left out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "a call for its effect left out"
MAKES = (
    ("optimizer.zero_grad()\n", "pass\n"),
    ("for x in y:\n    log.append(x)\n", "for x in y:\n    pass\n"),
    ("fit(a,\n    b)\n", "pass\n\n"),
)
LEAVES = ("x = f()\n", "'text'\n", "yield f()\n", "super().__init__()\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Nothing in place of the call; as many lines as before."""
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        text = source.text(node)
        if not text.startswith("super()"):
            first, last = source.lines(node)
            if first == last:
                yield source.replace(node, "pass")
            elif _ends_its_line(node, source):
                yield source.replace(node, "pass" + "\n" * (last - first))


def _ends_its_line(node: cst.Expr, source: Source) -> bool:
    line = source.parent(node)
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
