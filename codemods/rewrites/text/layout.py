"""How a file is laid out: its indentations, blank lines, the comments of a definition."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

import libcst as cst

from codemods.program.nodes import children, first_line
from codemods.program.source import Source

# A comment that opens a section (# --- name) belongs to what follows as a whole.
_SECTION = re.compile(r"#\s*[-=#*]{3}")

NOTHING = cst.SimpleWhitespace("")
BLANK = cst.SimpleWhitespace(" ")


def indentation(source: Source, line: int) -> str:
    """Leading blanks of a line."""
    text = source.lines[line - 1]
    return text[: len(text) - len(text.lstrip(" \t"))]


def own_comments(above: Iterable[str], first: int) -> int:
    """How many of the lines ``above`` a definition, the nearest first, are comments that belong to it.

    ``first`` is the number of the definition's own first line; a comment at the top of the file (licence,
    encoding, interpreter) belongs to the file.
    """
    count = len([*takewhile(lambda line: line.startswith("#") and not _SECTION.match(line), above)])
    return count if first - count > 2 else 0


def comments_above(source: Source, statement: ast.stmt) -> int:
    """How many comments directly above a statement are its own."""
    row, indent = first_line(statement), indentation(source, statement.lineno)
    above = takewhile(lambda line: line.startswith(indent), reversed(source.lines[: row - 1]))
    return own_comments((line[len(indent) :] for line in above), row)


def comments_inside(source: Source, statement: ast.stmt) -> int:
    """How many lines directly below a compound statement end with the last comment of its blocks."""
    own, last = len(indentation(source, statement.lineno)), statement.end_lineno or 0
    inside = 0
    for number, line in enumerate(source.lines[last:], 1):
        bare = line.strip()
        if bare and not bare.startswith("#"):
            break
        if bare and len(line) - len(line.lstrip(" \t")) > own:
            inside = number
    return inside


def reindented(rows: Sequence[str], statement: ast.stmt, old: str, new: str) -> list[str]:
    """Lines that begin with a statement, at another indentation; texts of several lines stay as they are."""
    kept = set[int]()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            kept.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
        else:
            waiting += children(node)
    return [
        new + row[len(old) :] if row.startswith(old) and number not in kept else row
        for number, row in enumerate(rows, statement.lineno)
    ]


def documentation(body: Sequence[ast.stmt]) -> ast.Expr | None:
    """The docstring of a block, if it has one."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first if isinstance(first.value.value, str) else None
    return None


def annotation_text(node: ast.expr) -> str:
    """An annotation as it is written; one that is not evaluated stands in double quotes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and not set('"\\') & set(node.value):
        return f'"{node.value}"'
    return ast.unparse(node)
