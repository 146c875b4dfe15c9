"""Make a file follow definitions that moved: its imports, attributes and dotted strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import libcst as cst
from libcst.helpers import get_full_name_for_node

from codemods.program.source import Source
from codemods.rewrites.move.transform import rename
from codemods.rewrites.text.file import Program, TextNotPreserved
from codemods.rewrites.text.imports import without_names

_MARK = re.compile(r"#\s*noqa\b[^#\n]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Followed:
    """What changes in one file: the names that leave an import, and imports in their place; other names of
    variables and attributes; parts of strings.
    """

    imports: dict[ast.ImportFrom, tuple[frozenset[str], list[str]]] = field(default_factory=dict)
    names: dict[ast.Name, str] = field(default_factory=dict)
    attributes: dict[ast.Attribute, str] = field(default_factory=dict)
    strings: dict[ast.Constant, tuple[str, str]] = field(default_factory=dict)


def follow(source: Source, changes: Followed) -> str:
    """The text with the changes in it.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    program = Program(source, [*changes.imports, *changes.names, *changes.attributes, *changes.strings])
    for statement, (gone, new) in changes.imports.items():
        _import(program, statement, gone, new)
    rename(program, changes.names)
    texts = {str(ast.unparse(node)): new for node, new in changes.attributes.items()}
    parts = dict(changes.strings.values())
    others = {program.statement_of(node) for node in (*changes.attributes, *changes.strings)}
    for other in others:
        program.change(program.nodes[other], lambda node: node.visit(_Other(texts, parts)))
    return program.text()


class _Other(cst.CSTTransformer):
    """Writes other attributes, by their dotted texts, and other parts of strings."""

    def __init__(self, attributes: Mapping[str, str], strings: Mapping[str, str]) -> None:
        super().__init__()
        self.attributes, self.strings = attributes, strings

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        """Rename an attribute."""
        new = self.attributes.get(get_full_name_for_node(original_node) or "")
        return updated_node if new is None else updated_node.with_changes(attr=cst.Name(new))

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        """Replace the part of a string that names what moved."""
        value = updated_node.value
        for old, new in self.strings.items():
            value = re.sub(rf"{re.escape(old)}\b", new, value)
        return updated_node.with_changes(value=value)


def _import(program: Program, statement: ast.ImportFrom, gone: frozenset[str], new: Sequence[str]) -> None:
    """Take names out of an import, and put others after it."""
    line = program.lines[statement]
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        raise TextNotPreserved(statement.lineno)
    numbers = {number for number, alias in enumerate(statement.names) if alias.name in gone}
    rows = program.source.lines[statement.lineno - 1 : statement.end_lineno]
    marks = [mark.group() for row in rows if (mark := _MARK.search(row)) is not None]
    made = [_statement(text, marks) for text in new]
    if len(numbers) < len(statement.names):
        program.change(program.nodes[statement], partial(without_names, gone=numbers))
    else:
        first = made.pop(0)
        program.change(line, lambda node: first.with_changes(leading_lines=node.leading_lines))
    program.after(statement, lambda: made, count=len(made))


def _statement(text: str, marks: Sequence[str]) -> cst.SimpleStatementLine:
    """An import; what only looks unused does so under its new module, too."""
    made = cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)
    if not marks:
        return made
    end = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(marks[0].rstrip()))
    return made.with_changes(trailing_whitespace=end)
