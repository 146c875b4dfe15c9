"""Which libcst node is which ast node: both trees are walked in step, down the touched statements only.

Positions are not compared but the order of the text, which both trees have, since Python 3.11 places what is
in an f-string by guess: statements by number, names by number within their statement.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import libcst as cst

from codemods.program.source import all_blocks
from codemods.rewrites.text.blocks import Plain

# Where a libcst name is no expression.
_LABELS: dict[type[cst.CSTNode], str] = {
    cst.Arg: "keyword",
    cst.AsName: "name",
    cst.Attribute: "attr",
    cst.Param: "name",
    cst.FunctionDef: "name",
    cst.ClassDef: "name",
    cst.MatchAs: "name",
    cst.MatchStar: "name",
    cst.MatchMapping: "rest",
    cst.MatchKeywordElement: "key",
    cst.TypeVar: "name",
    cst.TypeVarTuple: "name",
    cst.ParamSpec: "name",
}
_WITHOUT = (cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal)
_CONSTANTS = ("None", "True", "False")


class Unpaired(Exception):
    """The two trees don't agree; nothing can be told about this text."""


def flat(nodes: Sequence[cst.CSTNode]) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Statements of a block, small ones of one line apart, each with what stands in the block for it."""
    for node in nodes:
        if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            for small in node.body:
                yield small, node
        else:
            yield node, node


def pairs(
    body: Sequence[ast.stmt], nodes: Sequence[cst.CSTNode], touched: Callable[[ast.stmt], bool]
) -> Iterator[tuple[ast.stmt, cst.CSTNode, tuple[cst.CSTNode, ...]]]:
    """Touched statements with their nodes and those on the way, outer before inner.

    Raises:
        Unpaired: if a block has more statements in one tree.
    """
    found = list(flat(nodes))
    if len(found) != len(body):
        raise Unpaired
    for statement, (node, line) in zip(body, found, strict=True):
        if not touched(statement):
            continue
        yield statement, node, (line,)
        for inner, suite, way in _blocks(statement, node):
            if any(map(touched, inner)):
                for deeper, other, around in pairs(inner, suite, touched):
                    yield deeper, other, (*way, *around)


def _blocks(
    statement: ast.stmt, node: Any
) -> Iterator[tuple[Sequence[ast.stmt], Sequence[cst.CSTNode], tuple[cst.CSTNode, ...]]]:
    """The blocks of a statement in both trees, and the nodes on the way there."""
    holders = [node] if hasattr(node, "body") else []
    for name in ("handlers", "cases"):
        holders += getattr(node, name, ())
    holders += [held for name in ("orelse", "finalbody") if (held := getattr(node, name, None)) is not None]
    for body, holder in zip(filter(None, all_blocks(statement)), holders, strict=True):
        if holder is not node and isinstance(holder, cst.If):  # elif
            yield body, [holder], ()
            continue
        suite = holder.body
        held = suite.body if isinstance(suite, cst.IndentedBlock) else [suite]
        yield body, held, (holder, suite)


class _Names(Plain, cst.CSTVisitor):
    """Names in a statement's own text, in order, and calls by what is called."""

    def __init__(self, top: cst.CSTNode) -> None:
        super().__init__()
        self.top = top
        self.found: list[cst.Name] = []
        self.calls: dict[cst.CSTNode, cst.Call] = {}
        self._labels: set[cst.CSTNode | None] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, *_WITHOUT)):
            return False
        if isinstance(node, (cst.BaseSuite, cst.BaseStatement)) and node is not self.top:
            return False
        if (label := _LABELS.get(type(node))) is not None and not (
            isinstance(node, cst.AsName) and isinstance(self.top, cst.With)
        ):
            self._labels.add(getattr(node, label))
        if isinstance(node, cst.Call):
            self.calls[node.func] = node
        elif isinstance(node, cst.Name) and node not in self._labels and node.value not in _CONSTANTS:
            self.found.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Nothing is left to do."""


def paired(
    statement: ast.stmt, node: cst.CSTNode
) -> tuple[dict[ast.Name, cst.Name], dict[ast.Name, cst.Call]]:
    """Pair the names in a statement's own expressions, and the calls of some.

    Raises:
        Unpaired: if the trees have other names.
    """
    visitor = _Names(node)
    node.visit(visitor)
    before = list(_own_names(statement))
    if [name.id for name in before] != [_normal(name.value) for name in visitor.found]:
        raise Unpaired
    names = dict(zip(before, visitor.found, strict=True))
    return names, {one: visitor.calls[other] for one, other in names.items() if other in visitor.calls}


def _normal(name: str) -> str:
    """An identifier as the parser reads it."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def _own_names(node: ast.AST) -> Iterator[ast.Name]:
    """Names in a node, but for those in statements inside it, in the order of the text."""
    if isinstance(node, ast.Name):
        yield node
    for child in _in_order(node):
        if not isinstance(child, ast.stmt):
            yield from _own_names(child)


def _in_order(node: ast.AST) -> list[Any]:
    """Child nodes in the order of the text, not of their fields; for one that has no place those in it."""
    if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
        return list(ast.iter_child_nodes(node))
    found: list[Any] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if hasattr(child, "lineno") else _in_order(child)
    return sorted(found, key=lambda child: (child.lineno, child.col_offset))
