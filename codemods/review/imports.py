"""What the statements of the change's modules import, each file's worked out once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from codemods.facts.quiet import QUIET
from codemods.review.side import File, Side
from codemods.review.units import for_types


@dataclass(frozen=True, slots=True)
class Loads:
    """A file of the change is loaded, by which lines of which file does not matter."""

    path: str
    by: str = field(compare=False)
    first: int = field(compare=False)
    last: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Outer:
    """A module outside the change is loaded; `module` is its dotted name, `label` says which file that is."""

    label: str
    module: str
    by: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Takes:
    """A name is taken from a file of the change."""

    path: str
    name: str
    first: int
    last: int


# Statements that hold others which run with them.
_BLOCKS = (
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
)

Import = Loads | Outer | Takes


class Imports:
    """Of the files of one side."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._bodies: dict[str, list[ast.stmt]] = {}
        self._known: dict[str, list[list[Import]]] = {}

    def body(self, path: str) -> list[ast.stmt]:
        """The statements of a file that run."""
        if path not in self._bodies:
            self._bodies[path] = [node for node in self.side.changed[path].tree.body if not for_types(node)]
        return self._bodies[path]

    def of(self, path: str) -> list[list[Import]]:
        """What each statement of a file imports, in order."""
        if path not in self._known:
            file = self.side.changed[path]
            self._known[path] = [
                [each for node in _imports(statement) for each in self._import(file, node)]
                for statement in self.body(path)
            ]
        return self._known[path]

    def _import(self, file: File, node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._module(file, node, alias.name)
            return
        where = self.side.source_of(file.path, node)
        if where is None:
            return
        yield from self._module(file, node, where)
        found = self.side.tree.module(where)
        known = self.side.changed[found].bound if found in self.side.changed else ()
        for alias in node.names:
            if found is not None and alias.name in known:
                yield Takes(found, alias.name, node.lineno, node.end_lineno or 0)
            elif self.side.tree.module(f"{where}.{alias.name}") is not None:
                yield from self._module(file, node, f"{where}.{alias.name}")

    def _module(self, file: File, node: ast.Import | ast.ImportFrom, dotted: str) -> Iterator[Import]:
        """A module and the packages around it."""
        parts, last = dotted.split("."), node.end_lineno or node.lineno
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            found = self.side.tree.module(name)
            if found in self.side.changed:
                yield Loads(str(found), file.path, node.lineno, last)
            elif (found is not None or count == len(parts)) and not (found is None and parts[0] in QUIET):
                yield Outer(f"module {found or dotted}", name, file.path, node.lineno, last)


def _imports(statement: ast.stmt) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield statement
    elif isinstance(statement, _BLOCKS):
        for name in ("body", "orelse", "finalbody", "handlers"):
            for inner in getattr(statement, name, ()):
                if isinstance(inner, ast.ExceptHandler):
                    for below in inner.body:
                        yield from _imports(below)
                elif isinstance(inner, ast.stmt) and not for_types(inner):
                    yield from _imports(inner)
