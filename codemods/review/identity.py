"""Copies of a constant that a program may tell from the constant itself: by `is`, or by `id`."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.program.nodes import walk
from codemods.review.file import File
from codemods.review.side import Side
from codemods.review.units import Unit

_COMPARES = re.compile(rb"\bis\b|\bid\b|\bis_\b")
_CALLED = frozenset(["id", "is_", "is_not"])
_WORD = re.compile(r"\w*", re.ASCII)
# Whole numbers that CPython makes once.
_SMALL = range(-5, 257)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Names that a file compares by identity: the last parts of names, and whether there is anything but
    names of builtins, `None` and its like, and answers of `type`.
    """

    names: frozenset[str] = frozenset()
    anything: bool = False


class Apart:
    """Asks of two sides whether a copy is as good as the constant."""

    def __init__(self, *sides: Side) -> None:
        self._sides = sides
        self._known: dict[tuple[str, str], _Compared] = {}
        self._answers: dict[str, bool] = {}

    def may_be_told(self, unit: Unit) -> bool:
        """May the program tell a copy of a constant from it?"""
        values = [node.value for node in unit.original if isinstance(node, ast.Assign | ast.AnnAssign)]
        if all(value is not None and _is_made_once(value) for value in values):
            return False
        name, held = unit.name, any(isinstance(value, ast.Tuple | ast.BinOp) for value in values)
        key = f"{name} {held}"
        if key not in self._answers:
            found = (each for side in self._sides for each in self._compared(side, name))
            self._answers[key] = any(name in each.names or (held and each.anything) for each in found)
        return self._answers[key]

    def _compared(self, side: Side, name: str) -> Iterator[_Compared]:
        """Comparisons by the files of a change, and by others that say a name."""
        for path, blob in side.tree.identities.items():
            if not path.endswith(".py") or " " in blob:
                continue
            if (path, blob) not in self._known:
                data = side.tree.read(path)
                if _COMPARES.search(data) is None:
                    self._known[path, blob] = _Compared()
                    continue
                asks = path in side.changed or name.encode() in data
                file = side.file(path) if asks else None
                if file is None:
                    continue
                self._known[path, blob] = _compared_in(file)
            yield self._known[path, blob]


def _is_made_once(value: ast.expr) -> bool:
    """Is it one object wherever it is said?"""
    if isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant):
        value = value.operand
    if isinstance(value, ast.Tuple):
        return not value.elts
    if not isinstance(value, ast.Constant):
        return False
    if isinstance(value.value, str):
        return _WORD.fullmatch(value.value) is not None
    number = type(value.value) is int and value.value in _SMALL
    return number or value.value is None or value.value is ... or isinstance(value.value, bool)


def _compared_in(file: File) -> _Compared:
    names, anything = set[str](), False
    for node in walk(file.tree):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            steps = zip(node.ops, sides, sides[1:], strict=False)
            pairs = [(a, b) for operator, a, b in steps if isinstance(operator, ast.Is | ast.IsNot)]
        elif isinstance(node, ast.Call) and _last(node.func) in _CALLED:
            pairs = [(each, each) for each in node.args]
        for pair in pairs:
            if not any(map(_is_no_constant, pair)):
                anything = True
                names |= {_last(each) for each in pair} - {""}
    return _Compared(frozenset(names), anything)


def _is_no_constant(node: ast.expr) -> bool:
    """Is it surely something else than a constant of a module?"""
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is ... or isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        return _last(node.func) == "type"
    return isinstance(node, ast.Name) and hasattr(builtins, node.id)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
