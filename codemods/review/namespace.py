"""What the files of a tree do with the names of its modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from codemods.facts.origins import absolute
from codemods.facts.repository import ModuleName, package_of
from codemods.facts.seams import ANY_NAME, replaced
from codemods.facts.source import Source, SourceError, decode_source
from codemods.facts.surroundings import Surroundings
from codemods.review.trees import Tree

# No folder of this name is there: what is asked of a file's place is answered by the tree's paths alone.
_ROOT = Path("/<tree>")
# Which files are worth reading for what they replace.
_STORED = re.compile(rb"\.(\w+)(?=[^=\n!<>]*=(?!=))")
_SETS = rb"setattr\(|delattr\(|setitem\(|delitem\("
_PATCHES = re.compile(_SETS + rb"|patch|\bspy|\bstub|__dict__|vars\(\s*\w+\s*\)\s*\[")
_QUOTED = re.compile(rb"['\"]([\w.]+)['\"]")
_ANY = rb"__dict__\s*\[|vars\(\s*\w+\s*\)\s*\[|\bdel\s+\w+\.|patch[\w.]*\(\s*[^'\"\s]"
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
    """What a file may replace, told from its text: attributes that it sets, words that it quotes."""

    path: str
    data: bytes
    stored: frozenset[bytes]
    quoted: frozenset[bytes]
    any_name: bool


class Replacements:
    """Names of modules of a tree that other files replace while the program runs."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
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
                known[setter.path] = _replaced_in(setter, module) if tail in setter.data else frozenset()
            if known[setter.path] & {name, ANY_NAME}:
                return True
        return False


def _replaced_in(setter: _Setter, module: ModuleName) -> frozenset[str]:
    try:
        tree = decode_source(setter.data, setter.path).tree
    except SourceError:
        return frozenset()
    package = package_of(Path(setter.path), _module(setter.path).name)
    return frozenset(below.partition(".")[0] for below, *_ in replaced(tree, package, module))


def _module(path: str) -> ModuleName:
    """A file's module under every name by which it may be imported, the longest first."""
    parts = PurePosixPath(path.removesuffix(".py").removesuffix("/__init__")).parts
    names = [".".join(parts[index:]) for index in range(len(parts))]
    return ModuleName(names[0], tuple(names[1:]))


def star_importers(tree: Tree, path: str) -> list[str]:
    """Files that import all names of a module."""
    tail = _module(path).name.rpartition(".")[2].encode()
    found = []
    for other, data in _files(tree):
        if other != path and b"*" in data and tail in data and re.search(rb"import\s*\(?\s*\*", data):
            try:
                source = decode_source(data, other)
            except SourceError:
                continue
            package = package_of(Path(other), _module(other).name)
            if any(_is_star_of(node, package, path) for node in ast.walk(source.tree)):
                found.append(other)
    return found


def _is_star_of(node: ast.AST, package: str, path: str) -> bool:
    if not isinstance(node, ast.ImportFrom) or all(alias.name != "*" for alias in node.names):
        return False
    return absolute(node, package) in _module(path).spellings
