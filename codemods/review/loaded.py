"""Imports of one side alone: what runs now and did not before, what ran and does not any more.

Both ask the same: is a module among what the files of the other side load, or may load?
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.review.imports import Imports, Loads, Outer
from codemods.review.loading import Programs


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
    return ((path, node) for node, path in told.items())


def dropped(base: Imports, head: Programs) -> list[Loads | Outer]:
    """Imports of the base whose module does something when it is loaded, and that no file of the head loads.

    A file of the change that is gone is told by what it held, not here.
    """
    gone = {each.what: each for each in base.loading() if each.what not in head.imports.spelled}
    if not gone:
        return []
    done = set(head.events(each.module for each in head.imports.loading() if isinstance(each, Outer)))
    return [each for each in gone.values() if _acts(each, head, done)]


def _acts(each: Loads | Outer, head: Programs, done: set[str]) -> bool:
    """Whether an import runs what no other import runs."""
    if isinstance(each, Loads):
        return each.path in head.side.changed and head.does_something(each.path)
    return not done.issuperset(head.events([each.module]))
