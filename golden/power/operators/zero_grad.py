"""Gradients cleared at the wrong time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "gradients cleared after the backward pass instead of before it"
MAKES = (
    (
        "o.zero_grad()\nl = f(x)\nl.backward()\no.step()\n",
        "pass\nl = f(x)\nl.backward(); o.zero_grad()\no.step()\n",
    ),
)
LEAVES = ("o.step()\no.zero_grad()\n", "l.backward()\n")

_CLEARS = m.SimpleStatementLine(body=[m.Expr(value=m.Call(func=m.Attribute(attr=m.Name("zero_grad"))))])
_BACKWARD = m.Call(func=m.Attribute(attr=m.Name("backward")))


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The statement that clears, moved behind the next one of its block that goes backward."""
    if not isinstance(node, cst.IndentedBlock | cst.Module):
        return
    body: Sequence[cst.CSTNode] = node.body
    for position, line in enumerate(body):
        if not m.matches(line, _CLEARS):
            continue
        for later in body[position + 1 :]:
            if isinstance(later, cst.SimpleStatementLine) and m.findall(later, _BACKWARD):
                start, end = source.span(line)
                stop = source.span(later)[1]
                cleared = source.data[start:end]
                if b"\n" not in cleared:
                    yield Edit(start, stop, b"pass" + source.data[end:stop] + b"; " + cleared)
                break
