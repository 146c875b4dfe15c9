"""Imports of one side alone: what runs now and did not before, what ran and does not any more.

Both ask the same: is a module among what the files of the other side load, or may load?
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from codemods.program.loading import is_of_torch
from codemods.review.content import imports_in
from codemods.review.file import File
from codemods.review.imports import Imports, Loads, Outer
from codemods.review.loading import Programs
from codemods.review.side import Side
from codemods.review.trees import around, below

# Ways to spell an import that only some folders allow.
_ODD = ("relative, in no package", "from inside a package")
# Modules that the package of the standard library loads itself.
_OF_THEIR_PACKAGES = ("collections.abc", "os.path")


def fresh(base: Imports, head: Programs) -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Imports of the head, with their files, of modules that no file of the base loads.

    A file of the change that is new is told by what it holds, not here; another one if it does something.
    """
    told: dict[ast.Import | ast.ImportFrom, str] = {}
    for each in head.imports.loading():
        if each.what in base.spelled or each.node in told:
            continue
        if isinstance(each, Outer) or (each.path in base.side.changed and head.does_something(each.path)):
            told[each.node] = each.by
    told |= {node: path for path, node in _misplaced(base.side, head.side) if node not in told}
    return ((path, node) for node, path in told.items())


def _misplaced(base: Side, head: Side) -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Imports that spell a module of the tree in a way that no file of their folder did: relatively in a
    folder that is no package, or from inside a package as if that were none.
    """
    for path, file in head.changed.items():
        for node in file.run_imports:
            kind = _spelled_as(head, path, node)
            if kind and not any(kind == each for each in _spellings(base, path)):
                yield path, node


def _spellings(side: Side, path: str) -> Iterator[str]:
    """The odd spellings of imports in the files of the folder that a file is in; all, if it has none."""
    folder = path.rpartition("/")[0]
    files = [
        each for each in side.tree.identities if each.endswith(".py") and each.rpartition("/")[0] == folder
    ]
    if not files:
        yield from _ODD
    for each in files:
        file = side.file(each)
        for node in file.run_imports if file is not None else ():
            yield _spelled_as(side, each, node)


def _spelled_as(side: Side, path: str, node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.ImportFrom) and node.level:
        package = f"{path.rpartition('/')[0]}/__init__.py".removeprefix("/")
        return "" if package in side.tree.identities else _ODD[0]
    where = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return _ODD[1] if any(map(side.tree.is_inside_a_package, where)) else ""


def dropped(base: Imports, head: Programs) -> list[Loads | Outer]:
    """Imports of the base whose module does something when it is loaded, and that no file of the head loads.

    A file of the change that is gone is told by what it held, not here. Whatever a module does, it is told
    if the head still reads it as an attribute of the package that it is in.
    """
    doing = _doing(base, head)
    nodes = {each.node for each in doing}
    read = {each.module: each for each in _read(base, head.imports) if each.node not in nodes}
    return [*doing, *read.values()]


def _doing(base: Imports, head: Programs) -> list[Loads | Outer]:
    gone = {each.what: each for each in base.loading() if each.what not in head.imports.spelled}
    if not gone:
        return []
    done = set(head.events(each.module for each in head.imports.loading() if isinstance(each, Outer)))
    return [each for each in gone.values() if _acts(each, head, done)]


def _read(base: Imports, head: Imports) -> Iterator[Outer]:
    """Modules of packages that only `import a.b` made attributes of them."""
    there = {*_spelled_out(head), *_OF_THEIR_PACKAGES}
    gone: dict[str, Outer] = {}
    for path, file in base.side.changed.items():
        for node in file.run_imports:
            for alias in node.names if isinstance(node, ast.Import) else ():
                if "." in alias.name and not alias.asname and alias.name not in there:
                    gone.setdefault(alias.name, Outer(alias.name, alias.name, path, node))
    gone = {name: each for name, each in gone.items() if not is_of_torch(name)}
    read = _attributes(head, gone) if gone else ()
    return (gone[name] for name in gone.keys() & read)


def _spelled_out(imports: Imports) -> set[str]:
    """Dotted names that the files of one side import from, or may import."""
    found = set[str]()
    for path, file in imports.side.changed.items():
        for node in file.run_imports:
            where = imports.side.source_of(path, node) if isinstance(node, ast.ImportFrom) else ""
            dotted = (below(where or "", alias.name) for alias in node.names)
            found.update(part for name in dotted for part in around(name))
    return found


def _attributes(head: Imports, modules: Collection[str]) -> set[str]:
    """Those of some modules that files read as attributes of their packages, and do not import."""
    found = set[str]()
    for path, blob in head.side.tree.identities.items():
        if not path.endswith(".py") or " " in blob:
            continue
        data = head.side.tree.read(path)
        for name in modules:
            first, *rest = name.split(".")
            file = head.side.file(path) if rest[-1].encode() in data and first.encode() in data else None
            if file is not None and name not in _imported(file):
                chains = file.attributes.get(first, ())
                found.update(name for chain in chains if list(chain[: len(rest)]) == rest)
    return found


def _imported(file: File) -> set[str]:
    nodes = (node for node in imports_in(file.tree.body) if isinstance(node, ast.Import))
    return {alias.name for node in nodes for alias in node.names}


def _acts(each: Loads | Outer, head: Programs, done: set[str]) -> bool:
    """Tell whether an import runs something that no other import runs."""
    if isinstance(each, Loads):
        return each.path in head.side.changed and head.does_something(each.path)
    return not done.issuperset(head.events([each.module]))
