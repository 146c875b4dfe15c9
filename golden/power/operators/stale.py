"""A variable that keeps the value it had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from libcst import matchers as m

from golden.power.source import Edit, Source

WHAT = "an assignment left out: the variable keeps what it had"
MAKES = (
    ("x = x.relu()\n", "pass\n"),
    ("best = 0\nfor s in scores:\n    best = s\n", "best = 0\nfor s in scores:\n    pass\n"),
    ("self.steps = 0\n", "pass\n"),
)
# Without the first one there is no such name.
LEAVES = ("x = f(y)\n", "a, b = f(c)\n", "def f():\n    global x\n")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """Nothing in place of an assignment to a name that has a value by then."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return
    first, last = source.lines(node)
    target = node.targets[0].target
    if first == last and (isinstance(target, cst.Attribute) or _known(node, target, source)):
        yield source.replace(node, "pass")


def _known(node: cst.Assign, target: cst.BaseExpression, source: Source) -> bool:
    if not isinstance(target, cst.Name):
        return False
    name = m.Name(target.value)
    if m.findall(node.value, name):
        return True
    child: cst.CSTNode = node
    while (parent := source.parent(child)) is not None and not isinstance(child, cst.FunctionDef):
        if isinstance(parent, cst.IndentedBlock | cst.Module):
            body: Sequence[cst.CSTNode] = parent.body
            before = body[: next(i for i, each in enumerate(body) if each is child)]
            if any(m.matches(line, m.SimpleStatementLine()) and _binds(line, name) for line in before):
                return True
        child = parent
    return False


def _binds(line: cst.CSTNode, name: m.Name) -> bool:
    return bool(m.findall(line, m.AssignTarget(target=name)))
