"""Uses that the files of a tree make of the names of its modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from codemods.program.imports import absolute
from codemods.program.nodes import ANY_NAME
from codemods.program.patches import Replacing
from codemods.program.repository import ModuleName, package_of
from codemods.program.source import Source, SourceError, decode_source, statements_in
from codemods.program.surroundings import Surroundings
from codemods.review.trees import Tree

# No folder of this name is there: what is asked of a file's place is answered by the tree's paths alone.
_ROOT = Path("/<tree>")
# Which files are worth reading for what they replace.
_STORED = re.compile(rb"\.(\w+)(?=[^=\n!<>]*=(?!=))")
# Ways to replace a name of which the text is not searched for the name.
_RARE = rb"__globals__|__(?:set|del)attr__|\bdel\s+[\w.]+\.\w|\b(?:for|as)\s+[\w.]+\.\w+\s*(?:in\b|[:,)])"
_SETS = rb"setattr\(|delattr\(|setitem\(|delitem\("
_PATCHES = re.compile(_SETS + rb"|patch|\bspy|\bstub|__dict__|vars\(\s*\w+\s*\)|" + _RARE)
_QUOTED = re.compile(rb"['\"]([\w.]+)['\"]")
_ANY = rb"__dict__|vars\(\s*\w+\s*\)|multiple\(|patch[\w.]*\(\s*[^'\"\s]|" + _RARE
_DEFINED = re.compile(rb"^(?:async\s+def|class|def)\s+(\w+)", re.MULTILINE)
_STAR = re.compile(rb"import[\s\\]*\*")
_COMPUTED = re.compile(rb"(?:" + _SETS + rb")\s*[\w.]+\s*,\s*[^'\"\s]|" + _ANY)


def surroundings_of(tree: Tree, source: Source, path: str) -> Surroundings:
    """A module of a tree as the tree's other files see it."""
    return Surroundings(source, _ROOT / path, _ROOT, lambda: ((_ROOT / p, d) for p, d in _files(tree)))


def _files(tree: Tree) -> Iterator[tuple[str, bytes]]:
    for path, identity in tree.identities.items():
        if path.endswith(".py") and " " not in identity:
            yield path, tree.read(path)


@dataclass(frozen=True, slots=True)
class _Setter:
    """Names that a file may replace, told from its text: attributes that it sets, words that it quotes."""

    path: str
    data: bytes
    stored: frozenset[bytes]
    quoted: frozenset[bytes]
    any_name: bool


class Replacements:
    """Names of modules of a tree that other files replace while the program runs."""

    def __init__(self, tree: Tree, files: dict[tuple[str, str], Replacing | None]) -> None:
        """`files` are those that are read already, by path and content, of whichever tree."""
        self._tree, self._files = tree, files
        self._known: dict[str, dict[str, frozenset[str]]] = {}

    @cached_property
    def _setters(self) -> list[_Setter]:
        found = []
        for path, data in _files(self._tree):
            stored = frozenset(_STORED.findall(data))
            quoted, any_name = frozenset[bytes](), False
            if _PATCHES.search(data):
                quoted = frozenset(word for text in _QUOTED.findall(data) for word in text.split(b"."))
                any_name = _COMPUTED.search(data) is not None
            if stored or quoted or any_name:
                found.append(_Setter(path, data, stored, quoted, any_name))
        return found

    def __contains__(self, cell: tuple[str, str]) -> bool:
        path, name = cell
        known = self._known.setdefault(path, {})
        module, word = _module(path), name.encode()
        tail = module.name.rpartition(".")[2].encode()
        for setter in self._setters:
            if setter.path == path or not (setter.any_name or word in setter.stored or word in setter.quoted):
                continue
            if setter.path not in known:
                known[setter.path] = self._in(setter, module, path) if tail in setter.data else frozenset()
            if known[setter.path] & {name, ANY_NAME}:
                return True
        return False

    def _in(self, setter: _Setter, module: ModuleName, path: str) -> frozenset[str]:
        key = (setter.path, self._tree.identities[setter.path])
        if key not in self._files:
            self._files[key] = _replacing(setter)
        found = self._files[key]
        names = found.names_of(module) if found is not None else ()
        parts = [below.partition(".") for below, *_ in names]
        # One that sets an attribute of a class or function leaves it the same object, whoever reads it.
        data = self._tree.read(path) if parts and path in self._tree.identities else b""
        kept = {name.decode() for name in _DEFINED.findall(data)}
        return frozenset(root for root, dot, _ in parts if not dot or root not in kept)


def _replacing(setter: _Setter) -> Replacing | None:
    try:
        tree = decode_source(setter.data, setter.path).tree
    except SourceError:
        return None
    return Replacing(tree, package_of(Path(setter.path), _module(setter.path).name))


def _module(path: str) -> ModuleName:
    """A file's module under every name by which it may be imported, the longest first."""
    parts = PurePosixPath(path.removesuffix(".py").removesuffix("/__init__")).parts
    names = [".".join(parts[index:]) for index in range(len(parts))]
    return ModuleName(names[0], tuple(names[1:]))


class StarImports:
    """The imports of all names of a module in the files of a tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def of(self, path: str) -> list[str]:
        """Files that import all names of a module."""
        spellings = _module(path).spellings
        return [other for other, names in self._by_file if other != path and not names.isdisjoint(spellings)]

    @cached_property
    def _by_file(self) -> list[tuple[str, frozenset[str]]]:
        """Files with the modules that they take all names of."""
        found = []
        for path, data in _files(self._tree):
            if b"*" not in data or not _STAR.search(data):
                continue
            try:
                tree = decode_source(data, path).tree
            except SourceError:
                continue
            package = package_of(Path(path), _module(path).name)
            nodes = (node for node in statements_in(tree) if isinstance(node, ast.ImportFrom))
            stars = (node for node in nodes if any(alias.name == "*" for alias in node.names))
            found.append((path, frozenset(absolute(node, package) for node in stars)))
        return found
