"""Where a repository uses what a module defines: calls of a function, names taken from the module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codemods.analysis.origins import absolute, resolve, single, walk
from codemods.analysis.repository import (
    ModuleName,
    mentioning,
    module_name,
    package_of,
    python_files,
    shown_path,
)
from codemods.analysis.source import SourceError, decode_source

Kind = Literal["call", "value", "import", "source", "method"]


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One use of a function, outside its own text.

    Attributes:
        path: file, relative to the root.
        line: where.
        function: qualified name of the enclosing function; empty at module level.
        kind: ``call``; ``value`` (passed, stored, wrapped); ``source`` (its text or code is inspected);
            ``import``; ``method``: a call of some object's method of that name, which may be this one.
    """

    path: str
    line: int
    function: str
    kind: Kind


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """A name of the module that another file imports or reads as its attribute."""

    name: str
    path: str
    line: int


_INSPECTORS = {
    "getsource",
    "getsourcelines",
    "getsourcefile",
    "getclosurevars",
    "signature",
    "dis",
    "findsource",
}
_CODE = {"__code__", "co_consts", "__closure__", "__globals__"}


@dataclass(frozen=True, slots=True)
class _File:
    shown: str
    module: str
    package: str
    tree: ast.Module


class Usage:
    """Where the files below a root use one module; each file is read and parsed at most once.

    Files that can't be parsed are told by `unread`.
    """

    def __init__(self, root: Path, module: ModuleName) -> None:
        self.root = root
        self.module = module
        self.paths = tuple(python_files(root))
        self._parsed: dict[Path, _File | None] = {}

    def _mentioning(self, words: Iterable[str]) -> list[_File]:
        """Parsed files that contain one of the words."""
        for path, data in mentioning(self.paths, words):
            if path not in self._parsed:
                self._parsed[path] = _parse(path, data, self.root)
        return [file for file in self._parsed.values() if file is not None]

    def references(self, function: str) -> tuple[Reference, ...]:
        """Every use of one of the module's functions, through imports, aliases and re-exports."""
        owners = {f"{spelling}.{function}" for spelling in self.module.spellings}
        words = {self.module.name.rpartition(".")[2], *function.split(".")}
        while True:
            files = self._mentioning(words)
            exported = {name for file in files for name in _reexports(file, owners)} - owners
            if not exported:
                break
            owners |= exported
            words |= {name.rpartition(".")[2] for name in exported}
        return tuple(
            sorted({ref for file in files for ref in _references(file, owners, function, self.module)})
        )

    def unread(self) -> tuple[str, ...]:
        """Files that mention what was asked for but are not valid Python."""
        return tuple(
            shown_path(path, self.root) for path, file in sorted(self._parsed.items()) if file is None
        )

    def taken(self) -> tuple[Taken, ...]:
        """Every name of the module that another file imports or reads as its attribute."""
        files = self._mentioning([self.module.name.rpartition(".")[2]])
        return tuple(sorted({item for file in files for item in _taken(file, self.module)}))


def _parse(path: Path, data: bytes, root: Path) -> _File | None:
    try:
        tree = decode_source(data, str(path)).tree
    except SourceError:
        return None
    name = module_name(path, root).name
    return _File(shown_path(path, root), name, package_of(path, name), tree)


def _reexports(file: _File, owners: set[str]) -> Iterator[str]:
    """Names under which a file's top level makes the function importable from itself."""
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom):
            base = absolute(node, file.package)
            for alias in node.names:
                if alias.name == "*":
                    yield from (
                        f"{file.module}.{owner.rpartition('.')[2]}"
                        for owner in owners
                        if owner.rpartition(".")[0] == base
                    )
                elif f"{base}.{alias.name}" in owners:
                    yield f"{file.module}.{alias.asname or alias.name}"


def _references(file: _File, owners: set[str], function: str, module: ModuleName) -> Iterator[Reference]:
    own = file.module in module.spellings
    called: set[int] = set()
    inspected: set[int] = set()
    method = function.rpartition(".")[2] if "." in function else None
    for node, scope in walk(file.tree, file.package):
        if isinstance(node, ast.Call):
            called.add(id(node.func))
            if isinstance(node.func, (ast.Name, ast.Attribute)) and _last(node.func) in _INSPECTORS:
                inspected.update(map(id, node.args))
        elif isinstance(node, ast.Attribute) and node.attr in _CODE:
            inspected.add(id(node.value))
        if isinstance(node, ast.ImportFrom):
            base = absolute(node, file.package)
            if any(f"{base}.{alias.name}" in owners for alias in node.names):
                yield Reference(file.shown, node.lineno, scope.function, "import")
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        dotted = resolve(node, scope)
        if own and dotted is None and isinstance(node, ast.Name) and node.id == function:
            owner = scope.owner(node.id)
            dotted = f"{module.name}.{function}" if owner is not None and owner.parent is None else None
        if dotted in owners:
            kind: Kind = "call" if id(node) in called else "source" if id(node) in inspected else "value"
            yield Reference(file.shown, node.lineno, scope.function, kind)
        elif isinstance(node, ast.Attribute) and node.attr == method and id(node) in called:
            yield Reference(file.shown, node.end_lineno or node.lineno, scope.function, "method")


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _taken(file: _File, module: ModuleName) -> Iterator[Taken]:
    """Names of the module that a file imports or reads, by its own text."""
    if file.module in module.spellings:
        return
    for node, scope in walk(file.tree, file.package):
        if isinstance(node, ast.ImportFrom) and absolute(node, file.package) in module.spellings:
            for alias in node.names:
                yield Taken(alias.name, file.shown, node.lineno)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            base = resolve(node.value, scope)
            if base in module.spellings:
                yield Taken(node.attr, file.shown, node.lineno)
        elif isinstance(node, ast.Call) and len(node.args) == 2 and _is_getattr(node):
            name = single(node.args[1], scope)
            if name is not None and resolve(node.args[0], scope) in module.spellings:
                yield Taken(name, file.shown, node.lineno)


def _is_getattr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "getattr"
