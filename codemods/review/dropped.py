"""Imports that are gone: what the module did when it was loaded is done no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.review.imports import Imports, Loads, Outer
from codemods.review.loading import Programs


def dropped(base: Imports, head: Programs) -> list[Loads | Outer]:
    """Imports of the base whose module does something when it is loaded, and that no file of the head loads.

    A file of the change that is gone is told by what it held, not here.
    """
    after = set(_spelled(head.imports))
    gone = {name: each for each in _loading(base) if (name := _name(each)) not in after}
    if not gone:
        return []
    done = set(head.events(each.module for each in _loading(head.imports) if isinstance(each, Outer)))
    return [each for each in gone.values() if _acts(each, head, done)]


def _acts(each: Loads | Outer, head: Programs, done: set[str]) -> bool:
    """Whether an import runs what no other import runs."""
    if isinstance(each, Loads):
        return each.path in head.side.changed and head.does_something(each.path)
    return not done.issuperset(head.events([each.module]))


def _loading(imports: Imports) -> Iterator[Loads | Outer]:
    for path in imports.side.changed:
        for found in imports.of(path):
            yield from (each for each in found if isinstance(each, Loads | Outer))


def _name(each: Loads | Outer) -> str:
    return each.path if isinstance(each, Loads) else each.module


def _spelled(imports: Imports) -> Iterator[str]:
    """What a side loads, the packages around it, and names that it takes from them, which may be modules."""
    for each in _loading(imports):
        yield _name(each)
        if isinstance(each, Outer):
            parts = each.module.split(".")
            yield from (".".join(parts[:count]) for count in range(1, len(parts)))
    for file in imports.side.changed.values():
        for node in file.run_imports:
            if isinstance(node, ast.ImportFrom):
                where = imports.side.source_of(file.path, node)
                yield from (f"{where}.{alias.name}" for alias in node.names)
