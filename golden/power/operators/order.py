"""Two statements in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "two neighbouring statements that depend on each other, swapped"
MAKES = (
    ("loss.backward()\noptimizer.step()\n", "optimizer.step()\nloss.backward()\n"),
    ("old = new\nnew = f(old)\n", "new = f(old)\nold = new\n"),
    ("a()\n# why\nb()\n", "b()\n# why\na()\n"),
)
# Nothing of one is in the other; a definition can't come after its use; what spans lines would move others.
LEAVES = (
    "a = 1\nb = 2\n",
    "a = x.y\nb = f(z)\n",
    "import a\na.b()\n",
    "a()\nreturn b()\n",
    "a(\n    1)\nb()\n",
)


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Each pair of neighbours of a block that does something with what the other does."""
    if not isinstance(node, cst.IndentedBlock | cst.Module):
        return
    body: Sequence[cst.CSTNode] = node.body
    for first, second in pairwise(body):
        if all(_plain(each, source) for each in (first, second)) and _depend(first, second):
            yield source.swap(first, second)


def _plain(node: cst.CSTNode, source: Source) -> bool:
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) > 1:
        return False
    first, last = source.lines(node)
    only = node.body[0]
    stays = isinstance(only, cst.Assign | cst.AugAssign) or m.matches(only, m.Expr(value=m.Call()))
    return stays and first == last


def _depend(first: cst.CSTNode, second: cst.CSTNode) -> bool:
    if _calls(first) and _calls(second):
        return True
    return bool(_bound(first) & _names(second) or _bound(second) & _names(first))


def _calls(node: cst.CSTNode) -> bool:
    return bool(m.findall(node, m.Call()))


def _names(node: cst.CSTNode) -> set[str]:
    return {found.value for found in m.findall(node, m.Name()) if isinstance(found, cst.Name)}


def _bound(node: cst.CSTNode) -> set[str]:
    found = set[str]()
    for target in m.findall(node, m.AssignTarget()):
        found |= _names(target)
    for changed in m.findall(node, m.AugAssign()):
        assert isinstance(changed, cst.AugAssign)
        found |= _names(changed.target)
    return found
