"""Parse the second of two versions of a file: what both have in one text is taken from the first one's tree.

Functions, classes and methods that stand in the first version are looked for line by line. Each place is
parsed as `pass`: where that is a statement of the module, or of a class of the module, of the same
indentation, the text that stands there is one, too, and says what it said. Anything else is parsed anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from codemods.program.nodes import DEFINITIONS
from codemods.review.lines import Lines, begin

Node = TypeVar("Node", ast.stmt, ast.expr)
MOVED_BY = "moved_by"
# What is told of by its line wherever it stands.
_TOLD = b"TYPE_CHECKING"


class _Piece(NamedTuple):
    """A definition, the lines that it stands on, and how far it is indented; `inside` a class."""

    node: ast.stmt
    first: int
    rows: list[bytes]
    indent: int
    inside: bool


class Trees:
    """Trees of files by path, the first version's."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Lines, ast.Module]] = {}

    def of(self, path: str, data: bytes, lines: Lines) -> ast.Module:
        """The tree of a version of a file.

        What moved within the file has its own lines in its first line and, for a class, in those of its
        statements; `moved_by` is by how many lines all others are wrong.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
        """
        if path not in self._known:
            self._known[path] = lines, ast.parse(data)
            return self._known[path][1]
        return _patched(*self._known[path], lines) or ast.parse(data)


def shift_of(node: ast.AST) -> int | None:
    """By how many lines what is in a node is wrong, where the node's own line is right."""
    found = node.__dict__.get(MOVED_BY)
    return found if isinstance(found, int) else None


def _patched(old: Lines, tree: ast.Module, new: Lines) -> ast.Module | None:
    if old.rows is None or new.rows is None:
        return None
    rows = list(new.rows)
    places = dict(_places(rows, list(_pieces(tree, old.rows))))
    for place, piece in places.items():
        rows[place : place + len(piece.rows)] = [
            b" " * piece.indent + b"pass",
            *[b""] * (len(piece.rows) - 1),
        ]
    try:
        found = ast.parse(b"\n".join(rows))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    taken = _put(found.body, places, inside=False)
    for node in found.body:
        if isinstance(node, ast.ClassDef) and node.lineno - 1 not in places:
            taken += _put(node.body, places, inside=True)
            last = node.body[-1]
            node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset
    return found if taken == len(places) else None


def _pieces(tree: ast.Module, rows: list[bytes]) -> Iterator[_Piece]:
    for body, inside in (
        (tree.body, False),
        *((n.body, True) for n in tree.body if isinstance(n, ast.ClassDef)),
    ):
        for at, node in enumerate(body):
            if not isinstance(node, DEFINITIONS[:2] if inside else DEFINITIONS):
                continue
            (first, indent), last = begin(node), node.end_lineno or 0
            alone = at == 0 or (body[at - 1].end_lineno or 0) < first
            alone = alone and (at + 1 == len(body) or begin(body[at + 1])[0] > last)
            own = rows[first - 1 : last]
            plain = not own[0][:indent].strip(b" ") and bool(indent) == inside and not own[-1].endswith(b"\\")
            text = b"\n".join(own)
            told = _TOLD in text or (isinstance(node, ast.ClassDef) and b"import" in text)
            if alone and plain and not told:
                yield _Piece(node, first, own, indent, inside)


def _places(rows: list[bytes], pieces: list[_Piece]) -> Iterator[tuple[int, _Piece]]:
    """Where pieces stand, those of the module before those of its classes."""
    by_row: dict[bytes, list[_Piece]] = {}
    for piece in pieces:
        by_row.setdefault(piece.rows[0], []).append(piece)
    place = 0
    while place < len(rows):
        found = by_row.get(rows[place])
        for piece in found or ():
            if rows[place : place + len(piece.rows)] == piece.rows:
                yield place, piece
                place += len(piece.rows) - 1
                break
        place += 1


def _put(body: list[ast.stmt], places: dict[int, _Piece], *, inside: bool) -> int:
    """Put pieces in the places of their `pass`; how many there were."""
    count = 0
    for at, node in enumerate(body):
        piece = places.get(node.lineno - 1) if isinstance(node, ast.Pass) else None
        if piece is not None and piece.inside == inside and node.col_offset == piece.indent:
            body[at] = _moved(piece.node, node.lineno - piece.first)
            count += 1
    return count


def _moved(node: ast.stmt, shift: int) -> ast.stmt:
    """A definition, or a statement of a class, so many lines further down."""
    if not shift:
        return node
    made = _copied(node, shift)
    made.__dict__[MOVED_BY] = shift
    decorators = made.__dict__.get("decorator_list")
    if decorators:
        made.__dict__["decorator_list"] = [_copied(each, shift) for each in decorators]
    if isinstance(made, ast.ClassDef):
        made.body = [_moved(each, shift) for each in made.body]
    return made


def _copied(node: Node, shift: int) -> Node:
    made = type(node).__new__(type(node))
    made.__dict__.update(node.__dict__)
    made.lineno += shift
    made.end_lineno = (made.end_lineno or 0) + shift
    return made
