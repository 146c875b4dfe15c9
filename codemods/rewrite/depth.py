"""Moving a definition to another depth: what libcst does not move along with its block."""

from __future__ import annotations

from typing import Any, TypeVar

import libcst as cst

from codemods.facts.source import split_lines
from codemods.rewrite.layout import is_docstring

Node = TypeVar("Node", bound=cst.CSTNode)


def moved(node: Node, old: str, new: str, rows: list[str]) -> Node:
    """A statement for another depth. ``old`` and ``new`` are the indentations, ``rows`` the lines it has.

    Lines after backslashes and lines less indented than their block are moved here; others move with the
    block, and those inside strings stay as they are, but for a docstring's.
    """
    if old == new:
        return node
    node = _docstring_moved(node, old, new)
    if any(row.rstrip("\r\n").endswith("\\") or (row.strip() and not row.startswith(old)) for row in rows):
        changed = node.visit(_Stray(old, new))
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
    """Moves the lines whose indentation is their own."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__()
        self.old, self.new = old, new

    def leave_SimpleWhitespace(self, original_node: cst.SimpleWhitespace, updated_node: Any) -> Any:
        """A line that goes on after a backslash."""
        if "\\" not in original_node.value:
            return updated_node
        first, *others = split_lines(original_node.value)
        return updated_node.with_changes(value=first + "".join(self._line(line) for line in others))

    def _line(self, line: str) -> str:
        return _at_depth(line, self.old, self.new)

    def leave_EmptyLine(self, original_node: cst.EmptyLine, updated_node: Any) -> Any:
        """A comment that is less indented than its block."""
        if original_node.indent or original_node.comment is None:
            return updated_node
        return self._with(updated_node, "whitespace")

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: Any
    ) -> Any:
        """A line in parentheses that is less indented than its block."""
        return updated_node if original_node.indent else self._with(updated_node, "last_line")

    def _with(self, node: Any, field: str) -> Any:
        return node.with_changes(**{field: cst.SimpleWhitespace(self._line(getattr(node, field).value))})
