"""Side effects of the statements of one side, by what their names mean through its files."""

from __future__ import annotations

import ast
from functools import partial

from codemods.program.effects import Definition, Effect, Effects
from codemods.review.file import File
from codemods.review.side import Meaning, Outside, Side
from codemods.review.units import Unit

_LOOKS = (ast.Subscript, ast.Attribute)
# Without a look at names: enough for statements that bind plain values.
_PLAIN = Effects(lambda _: None)


class SideEffects:
    """Answers for the statements of one side."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._effects: dict[str, Effects] = {}
        # The files of expressions of definitions that stand elsewhere.
        self._homes: dict[int, File] = {}

    def runs(self, file: File, statement: ast.stmt) -> bool:
        """Tell whether a statement may run code of others, or reads a name that is bound again, besides
        importing.
        """
        effect = self.of(file, statement)
        again = file.bound_again if effect is Effect.RAISES else frozenset()
        return effect is Effect.RUNS or bool(again and again.intersection(file.read_by(statement)))

    def of(self, file: File, statement: ast.stmt) -> Effect:
        """The most that a statement may do besides importing."""
        if file.path not in self._effects:
            meaning = partial(self._means, file)
            self._effects[file.path] = Effects(meaning, lazy=file.lazy_annotations)
        return self._effects[file.path].of(statement, imports=False)

    def _means(self, file: File, node: ast.expr) -> str | Definition | None:
        """The dotted name of something outside the tree, or the one definition of something in it."""
        file = self._homes.get(id(node), file)
        if name := self.origin(file, node):
            return name
        if not isinstance(node, ast.Name) or node.id in file.bound_again:
            return None
        path, found = self.defined(self._side.meaning(file.path, node.id))
        there = self._side.file(path)
        if there is None or not isinstance(found, Definition) or found.name in there.bound_again:
            return None
        if there is not file and isinstance(found, ast.ClassDef):
            bases = [*found.bases, *(keyword.value for keyword in found.keywords)]
            self._homes |= {id(inner): there for base in bases for inner in ast.walk(base)}
        return found

    def defined(self, meaning: Meaning) -> tuple[str, ast.stmt | None]:
        """The one statement that binds what a name means, and its file."""
        if isinstance(meaning, Unit):
            return meaning.path, meaning.original[0] if len(meaning.original) == 1 else None
        if isinstance(meaning, Outside) and len(meaning.what) == 2:
            path, name = meaning.what
            there = self._side.file(path)
            binders = there.binders.get(name, ()) if there is not None else ()
            return path, binders[0] if len(binders) == 1 else None
        return "", None

    def origin(self, file: File, node: ast.expr) -> str:
        """The dotted name of something outside the tree, a builtin's own name; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, _LOOKS):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        meaning = self._side.meaning(file.path, node.id) if isinstance(node, ast.Name) else None
        what = meaning.what if isinstance(meaning, Outside) else ()
        if not what or what[0] not in ("builtin", "module"):
            return ""
        return ".".join([*what[1:], *reversed(parts)])


def is_plain(statement: ast.stmt) -> bool:
    """Tell whether a statement surely only binds names to functions and plain values.

    A class is looked at with its names, so it is never one.
    """
    return not isinstance(statement, ast.ClassDef) and _PLAIN.of(statement, imports=False) is Effect.NONE
