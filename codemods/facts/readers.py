"""Who reads the names of a module that tests replace: a seam that nothing reads there is lost."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.facts.origins import absolute, resolve, walk
from codemods.facts.repository import (
    ModuleName,
    file_or_none,
    mentioning,
    module_name,
    python_files,
    shown_path,
)
from codemods.facts.scopes import Scope, ScopeTree
from codemods.facts.seams import ANY_NAME, Seam, find_seams
from codemods.facts.source import SourceError, read_source
from codemods.facts.walk import read_scopes


@dataclass(frozen=True, slots=True)
class SeamReaders:
    """A seam of a module, where tests replace it, and who reads it when it is replaced.

    Attributes:
        name: the module's own name that is replaced.
        places: where; empty for a name that was asked for and that no text replaces.
        bound: whether the module's top level binds it at all.
        readers: qualified names of functions of the module, and places (``file:line``) of other files, that
            read it from the module when they run.
        rebinds: whether the name itself is replaced, not an attribute of what it refers to.
    """

    name: str
    places: tuple[Seam, ...]
    bound: bool
    readers: tuple[str, ...]
    rebinds: bool

    @property
    def lost(self) -> bool:
        """Whether replacing the name has no effect."""
        return not self.bound or (self.rebinds and not self.readers)


def seam_readers(
    path: Path, *, tests: Sequence[Path], root: Path, names: Iterable[str] = ()
) -> tuple[SeamReaders, ...]:
    """The seams of the module in a file, ``names`` included, sorted by name.

    Raises:
        SourceError: if the file, or a test that mentions the module, is not valid Python.
    """
    source = read_source(path, shown_path(path, root))
    tree = read_scopes(source)
    module = module_name(path, root)
    found: dict[str, list[Seam]] = {name: [] for name in names}
    rebound = set(found)
    for seam in find_seams(tests, module, root):
        if seam.root != ANY_NAME:
            found.setdefault(seam.root, []).append(seam)
            if seam.rebinds:
                rebound.add(seam.root)
    others = tuple(_outside(module, path, root, tests))
    return tuple(
        SeamReaders(
            name=name,
            places=tuple(places),
            bound=(tree.module, name) in tree.binders,
            readers=(*reading_functions(tree, name), *(place for read, place in others if read == name)),
            rebinds=name in rebound,
        )
        for name, places in sorted(found.items())
    )


def reading_functions(tree: ScopeTree, name: str) -> tuple[str, ...]:
    """Qualified names of the functions of a file that read a global of it when they run, sorted."""
    found = {
        function.qualname
        for use in tree.uses.get((tree.module, name), ())
        if isinstance(use.node.ctx, ast.Load) and (function := _function(use.scope)) is not None
    }
    return tuple(sorted(found))


def _function(scope: Scope) -> Scope | None:
    """The innermost function around a scope; a lambda at module level is one without a name."""
    return next((around for around in scope.ancestors() if around.kind in ("function", "lambda")), None)


def reads_own(path: Path, name: str, function: str) -> bool:
    """Whether a function of that name in a file reads the file's own global of that name."""
    try:
        tree = read_scopes(read_source(path))
    except SourceError:
        return False
    return any(function in reader.split(".") for reader in reading_functions(tree, name))


def _outside(module: ModuleName, path: Path, root: Path, tests: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Names that other files read from the module when they run, with the place."""
    own = path.resolve()
    folders = [folder.resolve() for folder in tests]
    files = (
        file
        for file in python_files(root)
        if file.resolve() != own and not any(file.resolve().is_relative_to(folder) for folder in folders)
    )
    for file, data in mentioning(files, [module.name.rpartition(".")[2]]):
        read = file_or_none(file, data, root)
        if read is None:
            continue
        for node, scope in walk(read.tree, read.package):
            if isinstance(node, ast.ImportFrom) and scope.function:
                if absolute(node, read.package) in module.spellings:
                    yield from ((alias.name, f"{read.shown}:{node.lineno}") for alias in node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and scope.function:
                dotted = resolve(node, scope)
                if dotted is not None and dotted.rpartition(".")[0] in module.spellings:
                    yield node.attr, f"{read.shown}:{node.lineno}"
