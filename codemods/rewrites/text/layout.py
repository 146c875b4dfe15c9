"""How a file is laid out: its width and indentations, blank lines, the comments of a definition."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import libcst as cst

from codemods.program.nodes import first_line
from codemods.program.source import Source, split_lines

_LONGEST = 120
_SHORTEST = 88
_LINES_THAT_MAY = 300
# A comment that opens a section (# --- name) belongs to what follows as a whole.
_SECTION = re.compile(r"#\s*[-=#*]{3}")

NOTHING = cst.SimpleWhitespace("")
BLANK = cst.SimpleWhitespace(" ")


def line_limit(source: Source) -> int:
    """The width that the file itself keeps to, but for a line of some hundreds."""
    lengths = sorted((len(line.rstrip()) for line in source.lines), reverse=True)
    longest = lengths[len(lengths) // _LINES_THAT_MAY] if lengths else 0
    return max(_SHORTEST, min(_LONGEST, longest))


def indentation(source: Source, line: int) -> str:
    """Leading blanks of a line."""
    text = source.lines[line - 1]
    return text[: len(text) - len(text.lstrip(" \t"))]


def room(source: Source, line: int) -> int:
    """The width that a line has beyond its indentation."""
    return line_limit(source) - len(indentation(source, line))


def blank_lines(count: int) -> list[cst.EmptyLine]:
    """Empty lines."""
    return [cst.EmptyLine(indent=False)] * count


def own_comments(lines: Sequence[cst.EmptyLine], first: int) -> int:
    """How many lines directly above a definition are comments that belong to it.

    ``first`` is the number of the definition's own first line; a comment at the top of the file (licence,
    encoding, interpreter) belongs to the file.
    """
    count = 0
    for line in reversed(lines):
        if line.comment is None or _SECTION.match(line.comment.value):
            break
        count += 1
    return count if first - count > 2 else 0


def comments_above(source: Source, statement: ast.stmt) -> int:
    """How many comments directly above a top-level statement are its own."""
    row = first_line(statement)
    above: list[cst.EmptyLine] = []
    for line in reversed(source.lines[: row - 1]):
        if not line.startswith("#"):
            break
        above.insert(0, cst.EmptyLine(comment=cst.Comment(line.rstrip())))
    return own_comments(above, row)


def is_docstring(node: cst.CSTNode) -> bool:
    """Tell whether a statement would be a docstring at the start of a block."""
    small = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    value = small.value if isinstance(small, cst.Expr) else None
    return isinstance(value, (cst.SimpleString, cst.ConcatenatedString))


def documentation(body: Sequence[ast.stmt]) -> ast.Expr | None:
    """The docstring of a block, if it has one."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first if isinstance(first.value.value, str) else None
    return None


def with_docstring_at(node: cst.FunctionDef, old: str, new: str) -> cst.FunctionDef:
    """A definition that goes from one indentation to another, with the lines of its docstring."""
    first = node.body.body[0] if isinstance(node.body, cst.IndentedBlock) else None
    if not isinstance(first, cst.SimpleStatementLine) or not is_docstring(first):
        return node
    assert isinstance(first.body[0], cst.Expr)
    string = first.body[0].value
    if not isinstance(string, cst.SimpleString):
        return node
    head, *others = split_lines(string.value)
    if not all(line.startswith(old) or not line.strip() for line in others):
        return node
    text = head + "".join(new + line.removeprefix(old) if line.strip() else line for line in others)
    changed = node.with_deep_changes(string, value=text)
    return cst.ensure_type(changed, cst.FunctionDef)


def annotation_text(node: ast.expr) -> str:
    """An annotation as it is written; one that is not evaluated stands in double quotes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and not set('"\\') & set(node.value):
        return f'"{node.value}"'
    return ast.unparse(node)
