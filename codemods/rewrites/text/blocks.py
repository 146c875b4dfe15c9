"""The libcst nodes of a file's statements: which ast node each is, and one pass that changes them.

Both trees are walked in step, down the touched statements only. Positions are not compared but the order of
the text, which both trees have, since Python 3.11 places what is in an f-string by guess: statements by
number, names by number within their statement.
"""

from __future__ import annotations

import ast
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from codemods.program.nodes import first_line
from codemods.program.source import all_blocks
from codemods.rewrites.text.layout import own_comments

Change = Callable[[Any], Any]
Made = Callable[[], Sequence[cst.BaseStatement]]


@dataclass(slots=True)
class Todo:
    """The statements for which nodes stand, and what happens to them.

    ``gone`` are statements that leave their block, ``cut`` those that leave the top level as whole lines;
    ``taken`` gets what left; in place of those that are ``filled`` a ``pass`` stays; ``places`` are new lines
    that go before a line (from 0).
    """

    statements: dict[cst.CSTNode, ast.stmt] = field(default_factory=dict)
    changes: dict[cst.CSTNode, list[Change]] = field(default_factory=lambda: defaultdict(list))
    before: dict[ast.stmt, list[Made]] = field(default_factory=lambda: defaultdict(list))
    after: dict[ast.stmt, list[Made]] = field(default_factory=lambda: defaultdict(list))
    gone: set[ast.stmt] = field(default_factory=set)
    cut: set[ast.stmt] = field(default_factory=set)
    taken: dict[ast.stmt, cst.BaseStatement] = field(default_factory=dict)
    filled: set[ast.stmt] = field(default_factory=set)
    places: list[tuple[int, str]] = field(default_factory=list)


class Plain:
    """A visitor that is told of nodes and not of their attributes, which takes half the time."""

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing hangs on it."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing hangs on it."""


class Pass(Plain, cst.CSTTransformer):
    """Carries out all changes of one chunk."""

    def __init__(self, todo: Todo) -> None:
        super().__init__()
        self.todo = todo

    def on_visit(self, node: cst.CSTNode) -> bool:
        return not isinstance(
            node, (cst.BaseParenthesizableWhitespace, cst.EmptyLine, cst.TrailingWhitespace)
        )

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: Any) -> Any:
        """Change a node, and put statements around one of a block or take it out."""
        for change in self.todo.changes.get(original_node, ()):
            updated_node = change(updated_node)
        statement = self.todo.statements.get(original_node)
        if statement is None or not isinstance(original_node, cst.BaseStatement):
            return updated_node
        return self._around(statement, updated_node)

    def _around(self, statement: ast.stmt, node: Any) -> Any:
        """A statement with what is put before and after it, or in its place."""
        todo = self.todo
        made: list[Any] = [each for make in todo.before.get(statement, ()) for each in make()]
        after = [each for make in todo.after.get(statement, ()) for each in make()]
        if statement in todo.cut:
            todo.taken[statement] = node
        if not made and not after and statement not in todo.gone:
            return node
        lines = list(node.leading_lines)
        if statement in todo.gone:
            # The comments above go with it, whatever they are about.
            at = next((number for number, line in enumerate(lines) if line.comment), len(lines))
            todo.taken[statement] = node.with_changes(leading_lines=lines[at:])
            found: list[Any] = [cst.SimpleStatementLine([cst.Pass()])] if statement in todo.filled else []
        else:
            above = (line.comment.value if line.comment else "" for line in reversed(lines))
            at = len(lines) - own_comments(above, first_line(statement)) if made else 0
            found = [node.with_changes(leading_lines=lines[at:])]
        if made:
            made[0] = made[0].with_changes(leading_lines=[*lines[:at], *made[0].leading_lines])
        return cst.FlattenSentinel([*made, *found, *after])


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
    body: Sequence[ast.stmt],
    nodes: Sequence[cst.CSTNode],
    touched: Callable[[ast.stmt], bool],
    hidden: Collection[ast.stmt],
) -> Iterator[tuple[ast.stmt, cst.CSTNode, cst.CSTNode]]:
    """Touched statements with their nodes and what stands in the block for them, outer before inner; those
    that are ``hidden`` have no node.

    Raises:
        Unpaired: if a block has more statements in one tree.
    """
    found = list(flat(nodes))
    body = [each for each in body if each not in hidden]
    if len(found) != len(body):
        raise Unpaired
    for statement, (node, line) in zip(body, found, strict=True):
        if not touched(statement):
            continue
        yield statement, node, line
        for inner, suite in _blocks(statement, node):
            yield from pairs(inner, suite, touched, hidden)


def _blocks(statement: ast.stmt, node: Any) -> Iterator[tuple[Sequence[ast.stmt], Sequence[cst.CSTNode]]]:
    """The blocks of a statement in both trees."""
    holders = [node] if hasattr(node, "body") else []
    for name in ("handlers", "cases"):
        holders += getattr(node, name, ())
    holders += [held for name in ("orelse", "finalbody") if (held := getattr(node, name, None)) is not None]
    for body, holder in zip(filter(None, all_blocks(statement)), holders, strict=True):
        if holder is not node and isinstance(holder, cst.If):  # elif
            yield body, [holder]
            continue
        suite = holder.body
        yield body, suite.body if isinstance(suite, cst.IndentedBlock) else [suite]


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
    if [name.id for name in before] != [unicodedata.normalize("NFKC", name.value) for name in visitor.found]:
        raise Unpaired
    names = dict(zip(before, visitor.found, strict=True))
    return names, {one: visitor.calls[other] for one, other in names.items() if other in visitor.calls}


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
