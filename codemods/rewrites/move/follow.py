"""Make a file follow definitions that moved: its imports, attributes and dotted strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from codemods.program.source import Source
from codemods.rewrites.move.transform import rename
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import without_names
from codemods.rewrites.text.layout import BLANK, room

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
    for attribute, name in changes.attributes.items():
        program.change(
            program.found.attributes[attribute],
            lambda node, name=name: node.with_changes(attr=node.attr.with_changes(value=name)),  # type: ignore[misc]
        )
    for constant, (old, text) in changes.strings.items():
        program.change(
            program.found.strings[constant],
            lambda node, old=old, text=text: _string(node, old, text),  # type: ignore[misc]
        )
    return program.text()


def _import(program: Program, statement: ast.ImportFrom, gone: frozenset[str], new: Sequence[str]) -> None:
    """Take names out of an import, and put others after it: on lines of their own, where it has one."""
    line = program.lines[statement]
    width = room(program.source, statement.lineno)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    numbers = {number for number, alias in enumerate(statement.names) if alias.name in gone}
    stays = len(numbers) < len(statement.names)
    made = [cst.parse_statement(text) for text in new]
    others = made[0 if stays else 1 :]
    rows = program.source.lines[statement.lineno - 1 : statement.end_lineno]
    marks = [mark for row in rows if (mark := _MARK.search(row)) is not None]
    if alone and marks:
        # What only looks unused does so under its new module, too.
        others = [_with_comment(one, marks[0].group()) for one in others]
        if not stays:
            program.change(line, lambda node: _with_comment(node, marks[0].group()))

    def change(node: cst.ImportFrom) -> Any:
        small = [_small(s) for s in made]
        first = (
            without_names(node, numbers, width)
            if stays
            else small.pop(0).with_changes(semicolon=node.semicolon)
        )
        if alone or not small:
            return first
        gap = cst.Semicolon(whitespace_after=BLANK)
        row = [s.with_changes(semicolon=gap) for s in (first, *small)]
        row[-1] = row[-1].with_changes(semicolon=node.semicolon)
        return cst.FlattenSentinel(row)

    program.change(program.nodes[statement], change)
    if alone and others:
        program.after(
            statement, lambda: [s for s in others if isinstance(s, cst.BaseStatement)], count=len(others)
        )


def _with_comment(statement: Any, comment: str) -> Any:
    end = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(comment))
    return statement.with_changes(trailing_whitespace=end)


def _small(statement: Any) -> Any:
    return statement.body[0]


def _string(node: Any, old: str, new: str) -> Any:
    """A string in which one part of the text is another."""
    if isinstance(node, cst.ConcatenatedString):
        return node.with_changes(left=_string(node.left, old, new), right=_string(node.right, old, new))
    return node.with_changes(value=node.value.replace(old, new))
