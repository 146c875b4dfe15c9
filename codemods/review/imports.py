"""Imports by the statements of the change's modules, each file's worked out once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from codemods.program.expressions import QUIET
from codemods.review.file import File
from codemods.review.side import Side
from codemods.review.trees import below, packages_of
from codemods.review.units import for_types


@dataclass(frozen=True, slots=True)
class Loads:
    """A file of the change is loaded, by which statement of which file does not matter."""

    path: str
    by: str = field(compare=False)
    node: ast.Import | ast.ImportFrom = field(compare=False)

    @property
    def what(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Outer:
    """A module outside the change is loaded; `what` is its file, or where the tree has none, as `module` its
    dotted name.
    """

    what: str
    module: str
    by: str
    node: ast.Import | ast.ImportFrom

    @property
    def label(self) -> str:
        return f"module {self.what}"


@dataclass(frozen=True, slots=True)
class Takes:
    """A name is taken from a file of the change."""

    path: str
    name: str
    first: int
    last: int


Import = Loads | Outer | Takes


class Imports:
    """Of the files of one side."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._bodies: dict[str, list[ast.stmt]] = {}
        self._places: dict[str, dict[int, int]] = {}
        self._known: dict[str, list[list[Import]]] = {}

    def body(self, path: str) -> list[ast.stmt]:
        """The statements of a file that run."""
        if path not in self._bodies:
            self._bodies[path] = [node for node in self.side.changed[path].tree.body if not for_types(node)]
        return self._bodies[path]

    def places(self, path: str) -> dict[int, int]:
        """How many statements of a file run before each, by its id."""
        if path not in self._places:
            self._places[path] = {id(node): place for place, node in enumerate(self.body(path))}
        return self._places[path]

    def of(self, path: str) -> list[list[Import]]:
        """Imports of each statement of a file, in order."""
        if path not in self._known:
            file = self.side.changed[path]
            self._known[path] = [
                [each for node in file.run_by(statement) for each in self._import(file, node)]
                for statement in self.body(path)
            ]
        return self._known[path]

    def loading(self) -> Iterator[Loads | Outer]:
        """Modules that all files load, but for themselves and the packages that they are in."""
        for path in self.side.changed:
            there = {path, *packages_of(path)}
            for found in self.of(path):
                loads = (each for each in found if isinstance(each, Loads | Outer))
                yield from (each for each in loads if each.what not in there)

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Modules that all files load, the packages around them, and names that they take from modules
        outside the tree, which may be modules.
        """
        found = set[str]()
        for each in self.loading():
            found.add(each.what)
            if isinstance(each, Outer):
                parts = each.module.split(".")
                found.update(".".join(parts[:count]) for count in range(1, len(parts)))
        for file in self.side.changed.values():
            for node in file.run_imports:
                where = self.side.source_of(file.path, node) if isinstance(node, ast.ImportFrom) else None
                names = [below(where, alias.name) for alias in node.names] if where is not None else []
                found.update(name for name in names if self.side.tree.module(name) is None)
        return frozenset(found)

    def _import(self, file: File, node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._module(file, node, alias.name)
            return
        where = self.side.source_of(file.path, node)
        if where is None:
            above = "." * node.level + (node.module or "")
            yield Outer(above, above, file.path, node)
            return
        if where or self.side.tree.module(where) is not None:
            yield from self._module(file, node, where)
        found = self.side.tree.module(where)
        known = self.side.changed[found].bound if found in self.side.changed else ()
        for alias in node.names:
            if found is not None and alias.name in known:
                yield Takes(found, alias.name, node.lineno, node.end_lineno or 0)
            elif self.side.tree.module(below(where, alias.name)) is not None:
                yield from self._module(file, node, below(where, alias.name))

    def _module(self, file: File, node: ast.Import | ast.ImportFrom, dotted: str) -> Iterator[Import]:
        """A module and the packages around it."""
        parts = dotted.split(".")
        quiet = parts[0] in QUIET and not self.side.tree.has_package(parts[0])
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            found = self.side.tree.module(name)
            if found in self.side.changed:
                yield Loads(str(found), file.path, node)
            elif found is not None or (count == len(parts) and not quiet):
                yield Outer(found or dotted, name, file.path, node)
