"""Which libcst node is which ast node: both trees are walked in step, down the touched statements only.

Positions are not compared but the order of the text, which both trees have: statements by number, names by
number within their statement. No metadata is made.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from codemods.program.source import all_blocks
from codemods.rewrites.text.deep import Plain

Block = tuple[Sequence[ast.stmt], Sequence[cst.CSTNode], tuple[cst.CSTNode, ...]]
"""Statements, their nodes, and the nodes on the way there from the statement that has the block."""

# Where a libcst name is no expression.
_LABELS: dict[type[cst.CSTNode], tuple[str, ...]] = {
    cst.Arg: ("keyword",),
    cst.Attribute: ("attr",),
    cst.Param: ("name",),
    cst.FunctionDef: ("name",),
    cst.ClassDef: ("name",),
    cst.MatchAs: ("name",),
    cst.MatchStar: ("name",),
    cst.MatchMapping: ("rest",),
    cst.MatchKeywordElement: ("key",),
    cst.TypeVar: ("name",),
    cst.TypeVarTuple: ("name",),
    cst.ParamSpec: ("name",),
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
        for inner, suite, way in blocks(statement, node):
            if any(map(touched, inner)):
                for deeper, other, around in pairs(inner, suite, touched):
                    yield deeper, other, (*way, *around)


def blocks(statement: ast.stmt, node: Any) -> Iterator[Block]:
    """The blocks of a statement in both trees."""
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


@dataclass(slots=True)
class Paired:
    """What is the same in a statement's own expressions: names, the calls of them, attributes, strings."""

    names: dict[ast.Name, cst.Name] = field(default_factory=dict)
    calls: dict[ast.Name, cst.Call] = field(default_factory=dict)
    attributes: dict[ast.Attribute, cst.Attribute] = field(default_factory=dict)
    strings: dict[ast.Constant, cst.SimpleString | cst.ConcatenatedString] = field(default_factory=dict)

    def update(self, other: Paired) -> None:
        """Add another statement's."""
        self.names |= other.names
        self.calls |= other.calls
        self.attributes |= other.attributes
        self.strings |= other.strings


class _Marks(Plain, cst.CSTVisitor):
    """Names, attributes and strings in a statement's own text, in order, and calls by what is called."""

    def __init__(self, top: cst.CSTNode) -> None:
        super().__init__()
        self.top = top
        self.found: list[cst.CSTNode] = []
        self.calls: dict[cst.CSTNode, cst.Call] = {}
        self._labels: set[cst.CSTNode | None] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, *_WITHOUT)):
            return False
        if isinstance(node, (cst.BaseSuite, cst.BaseStatement)) and node is not self.top:
            return False
        for label in _LABELS.get(type(node), ()):
            self._labels.add(getattr(node, label))
        if isinstance(node, (cst.ExceptHandler, cst.ExceptStarHandler)):
            self._labels.add(node.name and node.name.name)
        elif isinstance(node, cst.Call):
            self.calls[node.func] = node
        elif isinstance(node, cst.ConcatenatedString):
            # Parts without expressions are one string.
            if node not in self._labels and node.evaluated_value is not None:
                self.found.append(node)
                return False
            self._labels.update((node.left, node.right))
        elif isinstance(node, cst.Name):
            if node not in self._labels and node.value not in _CONSTANTS:
                self.found.append(node)
        elif isinstance(node, (cst.Attribute, cst.SimpleString)) and node not in self._labels:
            self.found.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Nothing is left to do."""


def paired(statement: ast.stmt, node: cst.CSTNode) -> Paired:
    """Pair what is in a statement's own expressions.

    Raises:
        Unpaired: if the trees have other names, attributes or strings.
    """
    visitor = _Marks(node)
    node.visit(visitor)
    before = list(own_marks(statement))
    if len(before) != len(visitor.found):
        raise Unpaired
    made = Paired()
    for one, other in zip(before, visitor.found, strict=True):
        if isinstance(one, ast.Name) and isinstance(other, cst.Name) and one.id == _normal(other.value):
            made.names[one] = other
            if other in visitor.calls:
                made.calls[one] = visitor.calls[other]
        elif isinstance(one, ast.Attribute) and isinstance(other, cst.Attribute):
            if one.attr != _normal(other.attr.value):
                raise Unpaired
            made.attributes[one] = other
        elif isinstance(one, ast.Constant) and isinstance(other, (cst.SimpleString, cst.ConcatenatedString)):
            made.strings[one] = other
        else:
            raise Unpaired
    return made


def _normal(name: str) -> str:
    """An identifier as the parser reads it."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def own_marks(node: ast.AST) -> Iterator[ast.Name | ast.Attribute | ast.Constant]:
    """Names, attributes and strings in a node, but for those in statements inside it, in the order of the
    text.
    """
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, (str, bytes)):
            yield node
        return
    for child in _in_order(node):
        text = isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)
        if not isinstance(child, ast.stmt) and not text:
            yield from own_marks(child)


def _in_order(node: ast.AST) -> list[Any]:
    """Child nodes in the order of the text, not of their fields; for one that has no place those in it."""
    if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
        # Python 3.11 places what is in an f-string by guess.
        return list(ast.iter_child_nodes(node))
    found: list[Any] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if hasattr(child, "lineno") else _in_order(child)
    return sorted(found, key=lambda child: (child.lineno, child.col_offset))
