"""Annotations that run something, or that a decorator may read."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from codemods.program.annotations import stated_by
from codemods.program.nodes import first_of, walk
from codemods.program.source import words
from codemods.review.content import Function
from codemods.review.effects import SideEffects
from codemods.review.file import File
from codemods.review.normal import written
from codemods.review.side import Meaning, Side
from codemods.review.units import Unit

# Modules whose decorators do not ask for annotations; builtins stand alone.
_NOT_ASKING = words("""
    abc atexit classmethod contextlib functools numba property pytest staticmethod torch typing unittest
""")
_OF_A_PROPERTY = ("setter", "getter", "deleter")
# What the file of a decorator says that asks for them.
_ASKING = re.compile(rb"annotation|get_type_hints|signature|singledispatch|getfullargspec")


class Annotated:
    """Asks it of the files of both sides."""

    def __init__(self, base: Side, head: Side, same: Callable[[Meaning, Meaning], bool]) -> None:
        self._sides = base, head
        self._effects = SideEffects(base), SideEffects(head)
        self._same = same

    def other(self, base: Unit, head: Unit) -> Iterator[tuple[str, str, str]]:
        """Yield changes of annotations, as a name and its meaning before and after."""
        units = base, head
        lazy = [
            side.changed[unit.path].lazy_annotations for side, unit in zip(self._sides, units, strict=True)
        ]
        for nodes in zip(*map(_annotated, units), strict=False):
            before, after = map(stated_by, nodes)
            matters = (self._matter(at, units[at], nodes[at], (before, after)[at]) for at in range(2))
            if not (before or after) or not any(matters):
                continue
            if [*map(written, before)] != [*map(written, after)] or lazy[0] != lazy[1]:
                yield "annotations", _shown(before, lazy[0]), _shown(after, lazy[1])
                return
            names = (inner.id for each in before for inner in walk(each) if isinstance(inner, ast.Name))
            for name in dict.fromkeys(names):
                meanings = [
                    side.meaning(unit.path, name) for side, unit in zip(self._sides, units, strict=True)
                ]
                if not self._same(*meanings):
                    yield name, f"that of {base.path} in an annotation", f"that of {head.path}"
                    return

    def _matter(self, at: int, unit: Unit, node: ast.AST, annotations: list[ast.expr]) -> bool:
        file = self._sides[at].changed[unit.path]
        inside = (inner for each in annotations for inner in walk(each))
        if not file.lazy_annotations and any(map(_acts, inside)):
            return True
        return any(self._asks(at, file, decorator) for decorator in getattr(node, "decorator_list", ()))

    def _asks(self, at: int, file: File, decorator: ast.expr) -> bool:
        """May a decorator read annotations?"""
        if isinstance(decorator, ast.Attribute) and decorator.attr in _OF_A_PROPERTY:
            return False
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if self._effects[at].origin(file, function).partition(".")[0] in _NOT_ASKING:
            return False
        root = first_of(function)
        path = self._made_in(at, file.path, root.id) if isinstance(root, ast.Name) else ""
        return not path or _ASKING.search(self._sides[at].tree.read(path)) is not None

    def _made_in(self, at: int, path: str, name: str, steps: int = 2) -> str:
        """The file of a function or class of the tree that a name stands for, or whose value it is."""
        where, bound = self._effects[at].defined(self._sides[at].meaning(path, name))
        if isinstance(bound, Function | ast.ClassDef):
            return where
        value = bound.value if isinstance(bound, ast.Assign) else None
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or not steps:
            return ""
        return self._made_in(at, where, value.func.id, steps - 1)


def _annotated(unit: Unit) -> list[ast.AST]:
    """Assignments among its statements, and functions that these define, at any depth; methods of a class are
    units of their own.
    """
    tops = [node for node in unit.original if not isinstance(node, ast.ClassDef)]
    inside = (inner for node in tops for inner in walk(node) if isinstance(inner, Function))
    return [*(node for node in tops if isinstance(node, ast.Assign | ast.AnnAssign)), *inside]


def _acts(node: ast.AST) -> bool:
    """May a part of an annotation run or bind something, or fail, as a text beside `|` does?"""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    text = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)
    return text or isinstance(node, ast.Call | ast.NamedExpr)


def _shown(annotations: list[ast.expr], texts: bool) -> str:
    said = ", ".join(map(ast.unparse, annotations)) or "none"
    return f"{said} as texts" if texts else said
