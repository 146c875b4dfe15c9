"""Which libcst node is which ast node: both trees are walked in step, down the touched statements only.

Positions are not compared but the order of the text, which both trees have: statements by number, names by
number within their statement. No metadata is made.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from codemods.facts.nodes import all_arguments
from codemods.rewrite.deep import Plain

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


def blocks(statement: ast.stmt, node: cst.CSTNode) -> Iterator[Block]:
    """The blocks of a statement in both trees."""
    if isinstance(statement, ast.Match):
        holders: list[tuple[Sequence[ast.stmt], object]] = [
            (case.body, held)
            for case, held in zip(statement.cases, node.cases, strict=True)  # type: ignore[attr-defined]
        ]
    else:
        holders = [(statement.body, node)] if hasattr(statement, "body") else []
    handlers = zip(getattr(statement, "handlers", ()), getattr(node, "handlers", ()), strict=True)
    holders += [(handler.body, held) for handler, held in handlers]
    for name in ("orelse", "finalbody"):
        if getattr(statement, name, None):
            holders.append((getattr(statement, name), getattr(node, name)))
    for body, holder in holders:
        if holder is not node and isinstance(holder, cst.If):  # elif
            yield body, [holder], ()
            continue
        assert isinstance(holder, cst.CSTNode)
        suite: cst.BaseSuite = holder.body  # type: ignore[attr-defined]
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
            return self._concatenated(node)
        elif isinstance(node, cst.Name):
            if node not in self._labels and node.value not in _CONSTANTS:
                self.found.append(node)
        elif isinstance(node, (cst.Attribute, cst.SimpleString)) and node not in self._labels:
            self.found.append(node)
        return True

    def _concatenated(self, node: cst.ConcatenatedString) -> bool:
        """Parts without expressions are one string."""
        if node in self._labels:
            parts: list[cst.CSTNode] = [node.left, node.right]
        elif node.evaluated_value is not None:
            self.found.append(node)
            return False
        else:
            parts = [node.left, node.right]
        self._labels.update(parts)
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


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Child nodes in the order of the text, which is not always that of their fields."""
    if isinstance(node, ast.Call):
        yield node.func
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        yield from sorted(given, key=lambda item: (item.lineno, item.col_offset))
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.test, node.orelse)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from [value] if key is None else [key, value]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from (*node.decorator_list, *getattr(node, "type_params", ()), node.args)
        yield from [] if node.returns is None else [node.returns]
    elif isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *getattr(node, "type_params", ()), *node.bases, *node.keywords)
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        defaults: dict[ast.arg, ast.expr | None] = dict(
            zip(reversed(plain), reversed(node.defaults), strict=False)
        )
        defaults.update(zip(node.kwonlyargs, node.kw_defaults, strict=True))
        for argument in all_arguments(node):
            default = defaults.get(argument)
            yield from [argument] if default is None else [argument, default]
    elif isinstance(node, ast.MatchMapping):
        for key, pattern in zip(node.keys, node.patterns, strict=True):
            yield from (key, pattern)
    else:
        yield from ast.iter_child_nodes(node)
