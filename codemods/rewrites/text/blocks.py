"""Carrying out what is to be done in one pass: nodes change, statements of blocks come and go."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from codemods.program.nodes import first_line
from codemods.program.source import Source
from codemods.rewrites.text.deep import Plain
from codemods.rewrites.text.layout import (
    blank_lines,
    blanks_at_end,
    blanks_at_start,
    is_docstring,
    own_comments,
)

Change = Callable[[Any], Any]
Made = Callable[[], Sequence[cst.BaseStatement]]


@dataclass(slots=True)
class Added:
    """Statements to be put before or after one, and how many blank lines set them apart."""

    make: Made
    count: int
    apart: bool


@dataclass(slots=True)
class Place:
    """New lines of a file's top level, that go before a line (from 0), and how many statements they are."""

    line: int
    text: str
    count: int


@dataclass(slots=True)
class Todo:
    """Nodes to be entered, the statements for which some of them stand, and what happens to them.

    ``gone`` are statements that leave their block, with their own comments (true) or without; ``cut`` those
    that leave the top level as whole lines; ``taken`` gets what left.
    """

    entered: set[cst.CSTNode] = field(default_factory=set)
    statements: dict[cst.CSTNode, ast.stmt] = field(default_factory=dict)
    changes: dict[cst.CSTNode, list[Change]] = field(default_factory=lambda: defaultdict(list))
    before: dict[ast.stmt, list[Added]] = field(default_factory=lambda: defaultdict(list))
    after: dict[ast.stmt, list[Added]] = field(default_factory=lambda: defaultdict(list))
    gone: dict[ast.stmt, bool] = field(default_factory=dict)
    cut: set[ast.stmt] = field(default_factory=set)
    taken: dict[ast.stmt, cst.CSTNode] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)


@dataclass(slots=True)
class _Gap:
    """Lines above statements that were taken out, which what follows inherits."""

    lines: list[cst.EmptyLine] = field(default_factory=list)
    blanks: int | None = None
    last: int = 0

    def add(self, lead: Sequence[cst.EmptyLine]) -> None:
        """Inherit the lines above one."""
        count = blanks_at_end(lead)
        if self.blanks is not None and len(lead) == count:
            self.grow(count)
            return
        if self.blanks is not None:
            self.grow(blanks_at_start(lead))
            self.lines += blank_lines(self.blanks)
            lead = lead[blanks_at_start(lead) :]
        self.lines += lead[: len(lead) - count]
        self.blanks = self.last = count

    def grow(self, count: int) -> None:
        """Blank lines below; where there were none above, none are needed."""
        assert self.blanks is not None
        self.blanks += max(0, count - self.last) if self.last else 0
        self.last = count

    def close(self, lead: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
        """The lines above what follows."""
        if self.blanks is None:
            return list(lead)
        count = blanks_at_start(lead)
        self.grow(count)
        found = [*self.lines, *blank_lines(self.blanks), *lead[count:]]
        self.lines, self.blanks, self.last = [], None, 0
        return found


class Pass(Plain, cst.CSTTransformer):
    """Carries out all changes of one chunk."""

    def __init__(self, todo: Todo, source: Source, first: int) -> None:
        """``first`` is the chunk's first line, from 0."""
        super().__init__()
        self.todo, self.source, self.first = todo, source, first

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.BaseStatement, cst.BaseSuite)):
            return node in self.todo.entered
        return not isinstance(
            node, (cst.BaseParenthesizableWhitespace, cst.EmptyLine, cst.TrailingWhitespace)
        )

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: Any) -> Any:
        """Change a node, or the statements of a block."""
        for change in self.todo.changes.get(original_node, ()):
            updated_node = change(updated_node)
        if original_node in self.todo.entered and isinstance(original_node, (cst.Module, cst.IndentedBlock)):
            return self._block(original_node, updated_node)
        return updated_node

    def _block(self, original: cst.Module | cst.IndentedBlock, updated: Any) -> Any:
        todo = self.todo
        body: list[Any] = []
        gap = _Gap()
        left: list[cst.EmptyLine] = []  # above statements that were dropped
        filled = False
        for number, (node, new) in enumerate(zip(original.body, updated.body, strict=True)):
            statement = todo.statements.get(node)
            if left:
                new, left = new.with_changes(leading_lines=[*left, *new.leading_lines]), []
            if statement in todo.gone and not todo.gone[statement]:
                left = list(new.leading_lines)
                continue
            if statement in todo.gone:
                cut = len(new.leading_lines) - own_comments(new.leading_lines, first_line(statement))
                lead = list(new.leading_lines[:cut])
                todo.taken[statement] = new.with_changes(leading_lines=list(new.leading_lines[cut:]))
                if statement in todo.before:
                    made = [m for added in todo.before[statement] for m in added.make()]
                    body += [made[0].with_changes(leading_lines=gap.close(lead)), *made[1:]]
                elif not filled and self._needs_filler(original, number):
                    filled = True
                    body.append(cst.SimpleStatementLine([cst.Pass()], leading_lines=gap.close(lead)))
                else:
                    gap.add(lead)
                continue
            if gap.blanks is not None:
                new = new.with_changes(leading_lines=gap.close(new.leading_lines))
            if statement is None:
                body.append(new)
                continue
            if statement in todo.cut:
                todo.taken[statement] = new
            body += self._around(original, number, statement, new)
        changes: dict[str, Any] = {"body": body}
        rest = [*left, *gap.lines]
        if rest and isinstance(updated, cst.IndentedBlock):
            changes["footer"] = [*rest, *updated.footer]
        return updated.with_changes(**changes)

    def _needs_filler(self, block: cst.Module | cst.IndentedBlock, number: int) -> bool:
        """Whether a statement must take the place of one that goes: nothing is left, or a string would become
        a docstring.
        """
        gone = self.todo.gone.keys() - self.todo.before.keys()
        left = [node for node in block.body if self.todo.statements.get(node) not in gone]
        return not left or (number == 0 and is_docstring(left[0]))

    def _around(
        self, block: cst.Module | cst.IndentedBlock, number: int, statement: ast.stmt, node: Any
    ) -> list[Any]:
        """A statement with what is put before and after it."""
        todo = self.todo
        before, after = todo.before.get(statement, ()), todo.after.get(statement, ())
        after_nodes = [made for added in after for made in added.make()]
        if not before:
            return [node, *after_nodes]
        cut = len(node.leading_lines) - own_comments(node.leading_lines, first_line(statement))
        above, own = list(node.leading_lines[:cut]), list(node.leading_lines[cut:])
        top = isinstance(block, cst.Module)
        gap = blank_lines(2 if top else 1)
        found: list[Any] = []
        apart = False
        for added in before:
            made: Any
            for made in added.make():
                lead: list[cst.EmptyLine] = []
                if not found:
                    lead = [*above, *(gap if added.apart and self._crowded(top, number, above) else [])]
                elif added.apart or apart:
                    lead = gap
                found.append(made.with_changes(leading_lines=[*lead, *made.leading_lines]))
            apart = added.apart
        return [*found, node.with_changes(leading_lines=[*(gap if apart else []), *own]), *after_nodes]

    def _crowded(self, top: bool, number: int, above: Sequence[cst.EmptyLine]) -> bool:
        """Whether there is something directly above."""
        if above:
            return above[-1].comment is not None
        if not top or number:
            return True
        lines = self.source.lines
        if any(place.line == self.first for place in self.todo.places):
            return False
        return self.first > 0 and bool(lines[self.first - 1].strip())
