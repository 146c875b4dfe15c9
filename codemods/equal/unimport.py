"""That a file without some imports, or with some elsewhere, is otherwise the file that it was."""

from __future__ import annotations

import ast
from collections.abc import Collection

from codemods.equal.code import NotProven, alike
from codemods.program.imports import bound_name
from codemods.program.source import Source
from codemods.program.walk import read_scopes
from codemods.rewrites.imports.unneeded import Alias, read_names, without


def prove_dropped(before: Source, after: Source, gone: Collection[Alias]) -> None:
    """Compare two texts of a file.

    Raises:
        NotProven: if more has changed, or a name that is gone is read.
    """
    if not alike(without(before.tree, gone), after.tree):
        raise NotProven(f"{after.path}: more than imports would change")
    tree = read_scopes(after)
    bound = {name for owner, name in tree.binders if owner is tree.module}
    lost = {alias.name for alias in gone} & read_names(tree) - bound
    if lost:
        raise NotProven(f"{after.path}: {', '.join(sorted(lost))} would not be bound any more")


def prove_reordered(before: Source, after: Source, moved: Collection[ast.ImportFrom]) -> None:
    """Compare two texts of a file, of which one has some imports in other places.

    Raises:
        NotProven: if more has changed, or a name is bound by two of its imports.
    """
    wanted = sorted(ast.dump(node) for node in moved)
    rest = [ast.dump(node) for node in before.tree.body if node not in moved]
    found = [ast.dump(node) for node in after.tree.body]
    for text in wanted:
        if text not in found:
            raise NotProven(f"{after.path}: an import would be lost")
        found.remove(text)
    bound = [
        bound_name(alias)
        for node in ast.walk(before.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    twice = {bound_name(alias) for node in moved for alias in node.names}
    if rest != found or any(bound.count(name) > 1 for name in twice):
        raise NotProven(f"{after.path}: more than the places of imports would change")
