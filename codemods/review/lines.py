"""Texts of statements as they stand in a file."""

from __future__ import annotations

import ast
import re

# Stands in a text that is not that of the file, and in no source.
UNKNOWN = "\0"
# Where a file may say in what it is encoded.
_DECLARED = re.compile(rb"^[ \t\f]*#.*?coding[:=](?![ \t]*utf-?8\b)", re.MULTILINE | re.IGNORECASE)
_BOM = b"\xef\xbb\xbf"


class Lines:
    """A file's lines as the parser counts them.

    Equal texts of two statements say the same, whatever file they stand in; so a file of another encoding
    than UTF-8 has none: each of its statements has a text of its own.
    """

    def __init__(self, data: bytes) -> None:
        plain = data.removeprefix(_BOM)
        if b"\r" in plain:
            plain = plain.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        start = b"\n".join(plain.split(b"\n", 2)[:2])
        self.rows = None if _DECLARED.search(start) else plain.split(b"\n")
        self._known: dict[ast.stmt, str] = {}

    def of(self, node: ast.stmt) -> str:
        """The text of a statement, its decorators included."""
        if node not in self._known:
            end = (node.end_lineno or 0, node.end_col_offset or 0)
            self._known[node] = self._between(begin(node), end, node)
        return self._known[node]

    def head_of(self, node: ast.stmt, first: ast.stmt) -> str:
        """The text of a statement before one in it."""
        return self._between(begin(node), begin(first), node)

    def _between(self, start: tuple[int, int], end: tuple[int, int], node: ast.stmt) -> str:
        if self.rows is None:
            return f"{UNKNOWN}{id(node)}"
        rows = self.rows[start[0] - 1 : end[0]]
        rows[-1] = rows[-1][: end[1]]
        rows[0] = rows[0][start[1] :]
        return b"\n".join(rows).decode("utf-8", "surrogateescape")


def begin(node: ast.stmt) -> tuple[int, int]:
    """Line and column at which a statement begins, with its decorators."""
    place = (node.lineno, node.col_offset)
    decorators = node.__dict__.get("decorator_list")
    return min([place, *((each.lineno, each.col_offset) for each in decorators)]) if decorators else place
