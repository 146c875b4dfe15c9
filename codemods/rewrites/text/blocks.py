"""Carrying out what is to be done in one pass: nodes change, statements of blocks come and go."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any

import libcst as cst

from codemods.program.nodes import first_line
from codemods.rewrites.text.layout import own_comments

Change = Callable[[Any], Any]
Made = Callable[[], Sequence[cst.BaseStatement]]


@dataclass(slots=True)
class Added:
    """Statements to be put before or after one, and how many."""

    make: Made
    count: int


@dataclass(slots=True)
class Place:
    """New lines that go before a line (from 0), and how many statements they are."""

    line: int
    text: str
    count: int


@dataclass(slots=True)
class Todo:
    """Nodes to be entered, the statements for which some of them stand, and what happens to them.

    ``gone`` are statements that leave their block, ``cut`` those that leave the top level as whole lines;
    ``taken`` gets what left; in place of those that are ``filled`` a ``pass`` stays; ``first`` are those that
    leave the start of a block, and those that stand there then; ``deleted`` are lines that go.
    """

    entered: set[cst.CSTNode] = field(default_factory=set)
    statements: dict[cst.CSTNode, ast.stmt] = field(default_factory=dict)
    changes: dict[cst.CSTNode, list[Change]] = field(default_factory=lambda: defaultdict(list))
    before: dict[ast.stmt, list[Added]] = field(default_factory=lambda: defaultdict(list))
    after: dict[ast.stmt, list[Added]] = field(default_factory=lambda: defaultdict(list))
    gone: set[ast.stmt] = field(default_factory=set)
    cut: set[ast.stmt] = field(default_factory=set)
    taken: dict[ast.stmt, cst.BaseStatement] = field(default_factory=dict)
    filled: set[ast.stmt] = field(default_factory=set)
    first: set[ast.stmt] = field(default_factory=set)
    places: list[Place] = field(default_factory=list)
    deleted: list[tuple[int, int]] = field(default_factory=list)


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
        if isinstance(node, (cst.BaseStatement, cst.BaseSuite)):
            return node in self.todo.entered
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
        made: list[Any] = [each for added in todo.before.get(statement, ()) for each in added.make()]
        after = [each for added in todo.after.get(statement, ()) for each in added.make()]
        if statement in todo.cut:
            todo.taken[statement] = node
        if statement in todo.first - todo.gone:
            node = node.with_changes(leading_lines=[*dropwhile(lambda x: not x.comment, node.leading_lines)])
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
