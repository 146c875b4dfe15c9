"""Whole statements that a rewrite leaves alone: a name stands for each while libcst reads what is around it.

They keep their text, as whole top-level statements do, and cost nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from codemods.program.nodes import first_line
from codemods.program.source import Source, blocks_of
from codemods.rewrites.text.layout import documentation, indent_of, indentation

# Texts of which libcst may write something differently are read in full.
_ODD = re.compile(r"\f|\v|\r(?!\n)|^[ \t]*\\\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Spared:
    """Lines of a file with names in place of statements.

    Attributes:
        text: the lines.
        rows: for each of them the file's line (from 0), or where the statement begins.
        kept: the text of every statement that was replaced, with its indentation, without its last line end.
        stem: what the names begin with.
    """

    text: str
    rows: list[int]
    kept: list[str]
    stem: str

    def holds(self, text: str) -> bool:
        """Whether a name stands for a statement in some text that was made."""
        return bool(self.kept) and self.stem in text

    def restored(self, text: str) -> str | None:
        """What was made of the text, with the statements; None if one is not where it was."""
        if not self.kept:
            return text
        pattern = re.compile(rf"^[ \t]*{self.stem}\d+(?=\r?$)", re.MULTILINE)
        names = {f"{indent_of(kept)}{self.stem}{number}": kept for number, kept in enumerate(self.kept)}
        found = pattern.findall(text)
        if set(found) != names.keys() or len(found) != len(names) or text.count(self.stem) != len(names):
            return None
        return pattern.sub(lambda name: names[name[0]], text)


def spare(
    source: Source,
    first: int,
    end: int,
    statements: Sequence[ast.stmt],
    touched: Callable[[ast.stmt], bool],
    whole: Collection[ast.AST],
) -> Spared:
    """Some lines of a file (from 0, without the end), which have some top-level statements.

    What is ``touched`` stays, and all that is in a statement of ``whole``.
    """
    lines = source.lines
    text = "".join(lines[first:end])
    if _ODD.search(text):
        return Spared(text, list(range(first, end)), [], "")
    stem = "spared_"
    while stem in text:
        stem += "_"
    parts, rows, kept, at = list[str](), list[int](), list[str](), first
    gone = sorted((node for s in statements for node in _inside(source, s, touched, whole)), key=first_line)
    for node in gone:
        start, stop = first_line(node) - 1, node.end_lineno or 0
        last = lines[stop - 1]
        newline = last[len(last.rstrip("\r\n")) :]
        parts += [*lines[at:start], f"{indentation(source, start + 1)}{stem}{len(kept)}{newline}"]
        rows += range(at, start + 1)
        kept.append("".join(lines[start:stop]).removesuffix(newline))
        at = stop
    return Spared("".join([*parts, *lines[at:end]]), [*rows, *range(at, end)], kept, stem)


def _inside(
    source: Source, statement: ast.AST, touched: Callable[[ast.stmt], bool], whole: Collection[ast.AST]
) -> Iterator[ast.stmt]:
    """The outermost statements in one that a name can stand for."""
    if statement in whole:
        return
    for block in blocks_of(statement):
        for number, inner in enumerate(block):
            if isinstance(inner, (ast.ExceptHandler, ast.match_case)):
                yield from _inside(source, inner, touched, whole)
                continue
            following = block[number + 1] if number + 1 < len(block) else None
            if not touched(inner) and _stands_alone(source, inner, following):
                yield inner
            else:
                yield from _inside(source, inner, touched, whole)


def _stands_alone(source: Source, statement: ast.stmt, following: ast.stmt | None) -> bool:
    """Whether a statement has its lines for itself, is no docstring, and has no comment below that is its."""
    start, stop = first_line(statement), statement.end_lineno or 0
    lines, indent = source.lines, indentation(source, start)
    head = lines[start - 1][len(indent) :]
    decorated = start != statement.lineno or bool(getattr(statement, "decorator_list", ()))
    begins = head.startswith("@") if decorated else statement.col_offset == len(indent)
    if not begins or (isinstance(statement, ast.If) and head.startswith("elif")):
        return False
    if documentation([statement]) is not None or (following is not None and first_line(following) <= stop):
        return False
    if not lines[stop - 1].endswith("\n") or any(
        _goes_on(row) for row in (lines[start - 2], lines[stop - 1])
    ):
        return False
    return not blocks_of(statement) or not _comment_below(lines, stop, indent)


def _goes_on(row: str) -> bool:
    return row.rstrip("\r\n").endswith("\\")


def _comment_below(lines: Sequence[str], row: int, indent: str) -> bool:
    """Whether a comment follows that is indented otherwise than a statement or what is around it."""
    for line in lines[row:]:
        bare = line.strip()
        if bare and not bare.startswith("#"):
            return False
        if bare and not indent.startswith(indent_of(line)):
            return True
    return False
