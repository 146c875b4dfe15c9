"""References of other files to names that moved: imports, attributes, names in strings."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from codemods.plans.site import Site
from codemods.program.imports import bound_name, imported_module
from codemods.program.lifting import Analysis
from codemods.program.loading import Find, Loading
from codemods.program.origins import resolve, walk
from codemods.program.replaced import place_replacing
from codemods.program.repository import folder_package
from codemods.program.scopes import Scope, dotted
from codemods.program.source import Source, SourceError, own_statements
from codemods.program.texts import all_words, words_in
from codemods.rewrites.move.follow import Followed, follow
from codemods.rewrites.move.transform import renamed_uses
from codemods.rewrites.text.file import TextNotPreserved


@dataclass(frozen=True, slots=True)
class Moved:
    """A name of the source, what it is called now, in which module, and what the source calls it."""

    old: str
    new: str
    module: str
    local: str


class Elsewhere:
    """A project's other files, which may refer to names of a source that move."""

    def __init__(self, site: Site, moved: Iterable[Moved], skip: Collection[Path]) -> None:
        """Files to ``skip`` are those that are made anew."""
        self.overlay, self.root, self.module = site.overlay, site.layout.root, site.home
        self.find = site.find
        self.moved = {item.old: item for item in moved}
        # Imports of what some file replaces in the source go on to find what is there then.
        around = site.surroundings
        self.replaced = {name for name in self.moved if place_replacing(around, {name: True}, {}) is not None}
        self.skip = skip

    def _mentioning(self, names: Collection[str]) -> Iterator[Path]:
        """Files that mention the module and one of some names."""
        tail = self.module.rpartition(".")[2].encode()
        wanted = [name.encode() for name in names]
        for path in sorted({*self.overlay.disk.files(self.root), *self.overlay.made}):
            if path not in self.skip and path.suffix == ".py" and self.overlay.counts(path):
                data = self.overlay.data(path)
                if tail in data and any(name in data for name in wanted):
                    yield path

    def asked(self) -> set[str]:
        """Names that other files may take from the source as attributes or by strings: it must keep them."""
        found, names = set[str](), self.moved.keys()
        for path in self._mentioning(names):
            try:
                tree = self.overlay.source(path, str(path)).tree
            except SourceError:
                found |= names & all_words(self.overlay.data(path).decode("utf-8", "replace"))
                continue
            found.update(*(taken for _, taken in self._asking(path, tree)))
        return found

    def _asking(self, path: Path, tree: ast.Module) -> Iterator[tuple[ast.expr, set[str]]]:
        """The attributes and strings of a file, and the moved names that each may take from the source."""
        names, tail = self.moved.keys(), self.module.rpartition(".")[2]
        for node, scope in walk(tree, folder_package(path)):
            match node:
                case ast.Attribute(attr=name) if name in names:
                    base = resolve(node.value, scope)
                    if base is None or base in (self.module, tail) or base.endswith(f".{tail}"):
                        yield node, {name}
                case ast.Constant(value=str() as text):
                    words = all_words(text)
                    yield node, names & (words if tail in words else words_in(text))

    def astray(self) -> set[str]:
        """Renamed names that other files may take from the source in a way that does not follow."""
        renamed = {item.old for item in self.moved.values() if item.new != item.old}
        found = set[str]()
        for path in self._mentioning(renamed):
            try:
                source = self.overlay.source(path, str(path))
            except SourceError:
                found |= renamed & all_words(self.overlay.data(path).decode("utf-8", "replace"))
                continue
            changes = self._changes(path, source)
            follow = changes.attributes.keys() | changes.strings.keys()
            found.update(*(taken for node, taken in self._asking(path, source.tree) if node not in follow))
        return found & renamed

    def following(self, find: Find) -> tuple[dict[Path, tuple[Source, str]], dict[str, Path]]:
        """The files that follow, with their texts then; and names that others go on taking from the source,
        since loading it does something that they would miss. ``find`` finds modules as they will be.

        Raises:
            SourceError: if a file that mentions a name is not Python.
        """
        loadings = Loading(self.find), Loading(find)
        texts: dict[Path, tuple[Source, str]] = {}
        stay: dict[str, Path] = {}
        for path in self._mentioning(self.moved):
            try:
                source = self.overlay.source(path, str(path))
            except SourceError as error:
                raise SourceError(f"{error} (it mentions a name that moves)") from None
            changes = self._changes(path, source)
            if _load_alike(source, changes, folder_package(path), *loadings):
                text = _followed(source, changes)
                if text != source.text:
                    texts[path] = source, text
            else:
                asked = {alias.name for node in changes.imports for alias in node.names}
                renamed = {old for old, item in self.moved.items() if item.new != old}
                asked |= renamed if changes.attributes or changes.strings else set()
                stay |= dict.fromkeys(asked & self.moved.keys(), path)
        return texts, stay

    def keep(self, names: Collection[str]) -> None:
        """The source goes on to call these what it did."""
        self.moved |= {name: replace(self.moved[name], local=name) for name in names}

    def _changes(self, path: Path, source: Source) -> Followed:
        """Find the changes that bring a file's references to moved names up to date."""
        analysis, package, module = Analysis(source), folder_package(path), self.module
        tree = analysis.tree
        changes = Followed()
        for scope in tree.scopes():
            for node in own_statements(scope.node):
                asks = isinstance(node, ast.ImportFrom) and imported_module(node, package) == module
                if (
                    isinstance(node, ast.ImportFrom)
                    and asks
                    and any(a.name in self.moved.keys() - self.replaced for a in node.names)
                ):
                    self._follow_import(changes, analysis, scope, node, path)
        for part in ast.walk(source.tree):
            if isinstance(part, ast.Attribute) and part.attr in self.moved:
                item = self.moved[part.attr]
                if item.local != item.old and dotted(tree, tree.module, part.value) == module:
                    changes.attributes[part] = item.local
            elif isinstance(part, ast.Constant) and str(part.value).startswith(f"{module}."):
                _follow_string(changes, source, part, module, self.moved)
        return changes

    def _follow_import(
        self, changes: Followed, analysis: Analysis, scope: Scope, node: ast.ImportFrom, path: Path
    ) -> None:
        """Split an import: what stays, and each moved name from its new module; uses follow a free new name,
        unless the old one is asked of the file.
        """
        homes: dict[str, list[str]] = {}
        for alias in node.names:
            item = self.moved.get(alias.name)
            if item is None or alias.name in self.replaced:
                continue
            local = bound_name(alias)
            renamed = alias.asname is None and item.new != item.old
            if renamed and free_everywhere(analysis, item.new) and not self._known(path, item.old, analysis):
                owner = analysis.tree.owner(scope, item.old)
                changes.names.update(renamed_uses(analysis, {item.old: item.new}, owner))
                local = item.new
            plain = local == item.new
            homes.setdefault(item.module if plain else f"{item.module} {local}", []).append(
                item.new if plain else f"{item.new} as {local}"
            )
        lines = [f"from {home.partition(' ')[0]} import {', '.join(names)}" for home, names in homes.items()]
        changes.imports[node] = (frozenset(self.moved.keys() - self.replaced), lines)

    def _known(self, path: Path, name: str, analysis: Analysis) -> bool:
        """Tell whether somebody may ask a file for a name that it has from the source."""
        if path.stem == "__init__" or name in analysis.tree.strings:
            return True
        home, word = path.stem.encode(), name.encode()
        return any(
            home in data and word in data
            for other in self.overlay.disk.files(self.root)
            if other != path and other not in self.skip
            for data in [self.overlay.data(other)]
        )


def _load_alike(source: Source, changes: Followed, package: str, before: Loading, after: Loading) -> bool:
    """Tell whether the new imports of a file, one by one or all together, load what the old ones did, and
    have it do the same.
    """
    made: dict[ast.stmt, list[ast.stmt]] = {}
    for node, (gone, lines) in changes.imports.items():
        left = [alias for alias in node.names if alias.name not in gone]
        made[node] = [ast.ImportFrom(node.module, left, node.level, lineno=node.lineno)] if left else []
        made[node] += ast.parse("\n".join(lines)).body
    body = source.tree.body
    pairs = [([node], new) for node, new in made.items()]
    whole = body, [new for statement in body for new in made.get(statement, [statement])]

    def alike(old: list[ast.stmt], new: list[ast.stmt]) -> bool:
        return before.executed(old, package).events == after.executed(new, package).events

    return all(alike(*pair) for pair in pairs) or (made.keys() <= {*body} and alike(*whole))


def _followed(source: Source, changes: Followed) -> str:
    """The file's text with them."""
    try:
        return follow(source, changes)
    except TextNotPreserved as failure:
        raise SourceError(
            f"{source.path}:{failure.line}: mentions a name that moves, and would be written differently; "
            "format the file"
        ) from None


def _follow_string(
    changes: Followed, source: Source, node: ast.Constant, module: str, moved: dict[str, Moved]
) -> None:
    """Rename the part of a dotted string that names a moved definition."""
    first = str(node.value)[len(module) + 1 :].partition(".")[0]
    item = moved.get(first)
    old = f"{module}.{first}"
    if item is not None and item.local != item.old and source.segment(node).count(old) == 1:
        changes.strings[node] = (old, f"{module}.{item.local}")


def free_everywhere(analysis: Analysis, name: str) -> bool:
    """Tell whether a name occurs nowhere in a file."""
    tree = analysis.tree
    return name not in tree.names and all(use.node.id != name for use in tree.annotated)
