"""References of other files to names that moved: imports, which follow, and what still asks the source."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from codemods.plans.site import Site
from codemods.program.annotations import all_words, words_in
from codemods.program.imports import bound_name, imported_module
from codemods.program.loading import Loading
from codemods.program.modules import Find
from codemods.program.origins import resolve, walk
from codemods.program.repository import folder_package
from codemods.program.source import Source, SourceError
from codemods.rewrites.move.follow import Imports, follow
from codemods.rewrites.text.file import TextNotPreserved


class Moved(NamedTuple):
    """A name of the source, what it is called now, and in which module."""

    old: str
    new: str
    module: str


class Elsewhere:
    """A project's other files, which may refer to names of a source that move."""

    def __init__(self, site: Site, moved: Iterable[Moved], skip: Collection[Path]) -> None:
        """Files to ``skip`` are those that are made anew."""
        self.overlay, self.root, self.module = site.overlay, site.layout.root, site.home
        self.find = site.find
        self.moved = {item.old: item for item in moved}
        # Imports of what some file replaces in the source go on to find what is there then.
        around = site.surroundings
        self.replaced = {name for name in self.moved if around.replacing([name]) is not None}
        self.skip = skip

    def _mentioning(self) -> Iterator[tuple[Path, Source]]:
        """Files that mention the module and one of the names.

        Raises:
            SourceError: if one is not Python.
        """
        tail = self.module.rpartition(".")[2].encode()
        wanted = [name.encode() for name in self.moved]
        files = {**dict(self.overlay.files(self.root)), **self.overlay.made}
        for path in sorted(files.keys() - self.skip):
            data = files[path]
            if path.suffix == ".py" and tail in data and any(name in data for name in wanted):
                try:
                    source = self.overlay.source(path, str(path))
                except SourceError as error:
                    raise SourceError(f"{error} (it mentions a name that moves)") from None
                yield path, source

    def asked(self) -> set[str]:
        """Names that other files may take from the source as attributes or by strings: it must keep them."""
        found, names, tail = set[str](), self.moved.keys(), self.module.rpartition(".")[2]
        for path, source in self._mentioning():
            for node, scope in walk(source.tree, folder_package(path)):
                match node:
                    case ast.Attribute(attr=name) if name in names:
                        base = resolve(node.value, scope)
                        if base is None or base in (self.module, tail) or base.endswith(f".{tail}"):
                            found.add(name)
                    case ast.Constant(value=str() as text):
                        words = all_words(text)
                        found |= names & (words if tail in words else words_in(text))
        return found

    def following(self, find: Find) -> tuple[dict[Path, tuple[Source, str]], set[str]]:
        """The files that follow, with their texts then; and names that others go on taking from the source,
        since loading it does something that they would miss. ``find`` finds modules as they will be.
        """
        loadings = Loading(self.find), Loading(find)
        texts: dict[Path, tuple[Source, str]] = {}
        stay = set[str]()
        for path, source in self._mentioning():
            package = folder_package(path)
            imports = self._imports(source.tree, package)
            if _load_alike(source, imports, package, *loadings):
                text = _followed(source, imports)
                if text != source.text:
                    texts[path] = source, text
            else:
                asked = {alias.name for node in imports for alias in node.names}
                stay |= asked & self.moved.keys()
        return texts, stay

    def _imports(self, tree: ast.Module, package: str) -> Imports:
        """Split imports from the source: what stays, and each moved name from its new module, under the name
        that the file knows it by.
        """
        gone, imports = frozenset(self.moved.keys() - self.replaced), Imports()
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or imported_module(node, package) != self.module:
                continue
            homes: dict[str, list[str]] = {}
            for alias in node.names:
                if alias.name in gone:
                    item, known = self.moved[alias.name], bound_name(alias)
                    name = item.new if known == item.new else f"{item.new} as {known}"
                    homes.setdefault(item.module, []).append(name)
            if homes:
                lines = [f"from {home} import {', '.join(names)}" for home, names in homes.items()]
                imports[node] = gone, lines
        return imports


def _load_alike(source: Source, imports: Imports, package: str, before: Loading, after: Loading) -> bool:
    """Tell whether the new imports of a file, one by one or all together, load what the old ones did, and
    have it do the same.
    """
    made: dict[ast.stmt, list[ast.stmt]] = {}
    for node, (gone, lines) in imports.items():
        left = [alias for alias in node.names if alias.name not in gone]
        made[node] = [ast.ImportFrom(node.module, left, node.level, lineno=node.lineno)] if left else []
        made[node] += ast.parse("\n".join(lines)).body
    body = source.tree.body
    pairs = [([node], new) for node, new in made.items()]
    whole = body, [new for statement in body for new in made.get(statement, [statement])]

    def alike(old: list[ast.stmt], new: list[ast.stmt]) -> bool:
        return before.executed(old, package).events == after.executed(new, package).events

    return all(alike(*pair) for pair in pairs) or (made.keys() <= {*body} and alike(*whole))


def _followed(source: Source, imports: Imports) -> str:
    """The file's text with them."""
    try:
        return follow(source, imports)
    except TextNotPreserved as failure:
        raise SourceError(
            f"{source.path}:{failure.line}: mentions a name that moves, and would be written differently; "
            "format the file"
        ) from None
