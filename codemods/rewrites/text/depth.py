"""Moving a definition to another depth: what libcst does not move along with its block."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import libcst as cst

from codemods.program.source import split_lines
from codemods.rewrites.text.layout import is_docstring

Node = TypeVar("Node", bound=cst.CSTNode)
# What may be the end of a field of an f-string that shows its own text: ``f"{x = !r}"``.
_SHOWS = re.compile(r"=\s*(![ars]\s*)?[:}]")


def moved(node: Node, old: str, new: str, rows: list[str], step: str) -> Node:
    """A statement for another depth. ``old`` and ``new`` are the indentations, ``rows`` the lines it has,
    ``step`` by how much its blocks are indented.

    Lines after backslashes and lines less indented than their block are moved here; others move with the
    block, and those inside strings stay as they are, but for a docstring's.
    """
    if old == new:
        return node
    node = _docstring_moved(node, old, new)
    stray = any(
        row.rstrip("\r\n").endswith("\\") or (row.strip() and not row.startswith(old)) for row in rows
    )
    if stray or _SHOWS.search("".join(rows)):
        changed = node.visit(_Stray(old, new, step))
        assert isinstance(changed, type(node))
        return changed
    return node


def _docstring_moved(node: Node, old: str, new: str) -> Node:
    """A definition whose docstring's lines move along, if they are all indented like it."""
    if not isinstance(node, cst.FunctionDef) or not isinstance(node.body, cst.IndentedBlock):
        return node
    if not node.body.body or not is_docstring(node.body.body[0]):
        return node
    statement = node.body.body[0]
    assert isinstance(statement, cst.SimpleStatementLine)
    assert isinstance(statement.body[0], cst.Expr)
    string = statement.body[0].value
    if not isinstance(string, cst.SimpleString):
        return node
    first, *others = split_lines(string.value)
    if not all(line.startswith(old) or not line.strip() for line in others):
        return node
    text = first + "".join(_at_depth(line, old, new) if line.startswith(old) else line for line in others)
    changed: Node = node if text == string.value else node.with_deep_changes(string, value=text)
    return changed


def _at_depth(line: str, old: str, new: str) -> str:
    """A line at another depth."""
    return new + (line[len(old) :] if line.startswith(old) else line.lstrip(" \t"))


class _Stray(cst.CSTTransformer):
    """Moves the lines whose indentation is their own, and leaves those of fields that show their text."""

    def __init__(self, old: str, new: str, step: str) -> None:
        super().__init__()
        self.old, self.new, self.step = old, new, step
        self.indents = [old]
        self.shown = 0

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:
        """A block, by how much it is indented."""
        self.indents.append(self.step if node.indent is None else node.indent)

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: Any) -> Any:
        """The end of a block."""
        self.indents.pop()
        return updated_node

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> None:
        """A field of an f-string."""
        self.shown += node.equal is not None

    def leave_FormattedStringExpression(
        self, original_node: cst.FormattedStringExpression, updated_node: Any
    ) -> Any:
        """The end of a field."""
        self.shown -= original_node.equal is not None
        return updated_node

    def leave_SimpleWhitespace(self, original_node: cst.SimpleWhitespace, updated_node: Any) -> Any:
        """A line that goes on after a backslash."""
        if self.shown or "\\" not in original_node.value:
            return updated_node
        first, *others = split_lines(original_node.value)
        return updated_node.with_changes(value=first + "".join(self._line(line) for line in others))

    def _line(self, line: str) -> str:
        return _at_depth(line, self.old, self.new)

    def leave_EmptyLine(self, original_node: cst.EmptyLine, updated_node: Any) -> Any:
        """A comment that is less indented than its block."""
        if self.shown:
            return self._kept(updated_node, "whitespace")
        if original_node.indent or original_node.comment is None:
            return updated_node
        return self._with(updated_node, "whitespace")

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: Any
    ) -> Any:
        """A line in parentheses that is less indented than its block."""
        if self.shown:
            return self._kept(updated_node, "last_line")
        return updated_node if original_node.indent else self._with(updated_node, "last_line")

    def _with(self, node: Any, field: str) -> Any:
        return node.with_changes(**{field: cst.SimpleWhitespace(self._line(getattr(node, field).value))})

    def _kept(self, node: Any, field: str) -> Any:
        """A line with the indentation that it has, wherever its block goes."""
        if not node.indent:
            return node
        text = "".join(self.indents) + getattr(node, field).value
        return node.with_changes(indent=False, **{field: cst.SimpleWhitespace(text)})
