"""Names of a change that files outside it may read before they are there: they import what imports them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from codemods.program.nodes import DEFINITIONS, all_defaults, children, walk
from codemods.review.binding_order import TooEarly
from codemods.review.file import File
from codemods.review.imports import Imports, Loads, Outer
from codemods.review.side import Side
from codemods.review.trees import packages_of
from codemods.review.units import Unit

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def early_outside(base: Imports, head: Imports) -> list[TooEarly]:
    """Names that a file binds after it loads others, where it bound them before; and files that are the same
    on both sides, are loaded by that and read one of them.
    """
    found: dict[TooEarly, None] = {}
    for path in sorted(base.side.changed.keys() & head.side.changed.keys()):
        late = _late(base, head, path)
        names = frozenset[str]().union(*late.values())
        for user in _mentioning(base.side, head.side, path, names) if names else ():
            for name, node in _taken(head.side, user, path):
                targets = [target for target, later in late.items() if name in later]
                if targets and _leads(head.side, targets, user, packages_of(path)):
                    last = node.end_lineno or node.lineno
                    found[TooEarly(path, name, user, node.lineno, last)] = None
    return list(found)


def _late(base: Imports, head: Imports, path: str) -> dict[str, frozenset[str]]:
    """By each file that one loads: names that are bound after that, and were bound before it."""
    before, after = _loaded(base, path), _loaded(head, path)
    old, new = _bound_first(base, path), _bound_first(head, path)
    late = {
        target: frozenset(
            name
            for name, place in new.items()
            if place >= at and name in old and old[name] < before.get(target, len(base.body(path)))
        )
        for target, at in after.items()
    }
    return {target: names for target, names in late.items() if names}


def _loaded(imports: Imports, path: str) -> dict[str, int]:
    """Files of the tree that one loads, with how many of its statements ran before."""
    found: dict[str, int] = {}
    for place, each in enumerate(imports.of(path)):
        for one in each:
            if isinstance(one, Loads | Outer) and one.what in imports.side.tree.identities:
                found.setdefault(one.what, place)
    # They are loaded before it.
    return {what: place for what, place in found.items() if what not in packages_of(path)}


def _bound_first(imports: Imports, path: str) -> dict[str, int]:
    places = imports.places(path)
    binders = imports.side.changed[path].binders.items()
    found = {name: [places[id(node)] for node in nodes if id(node) in places] for name, nodes in binders}
    return {name: min(each) for name, each in found.items() if each}


def _mentioning(base: Side, head: Side, path: str, names: frozenset[str]) -> Iterator[str]:
    """Files that are the same on both sides and may take one of some names of a file."""
    stem = PurePosixPath(path.removesuffix("/__init__.py")).stem.encode()
    # A function of the file may be called that reads one.
    calling = (unit.name for unit in head.changed[path].units.values() if not unit.owner)
    words = [name.encode() for name in calling if names & _through(head, path, [name])]
    words += [name.encode() for name in names]
    around = path.removesuffix("__init__.py") if path.endswith("/__init__.py") else None
    for other, blob in head.tree.identities.items():
        if blob == base.tree.identities.get(other) and other.endswith(".py") and " " not in blob:
            data = head.tree.read(other)
            known = stem in data or (around is not None and other.startswith(around))
            if known and (b"*" in data or any(word in data for word in words)):
                yield other


def _taken(side: Side, user: str, path: str) -> Iterator[tuple[str, ast.stmt]]:
    """Names of a file that another one reads when it is loaded, and where."""
    file = side.file(user)
    if file is None:
        return
    for node, where in side.sources(file):
        if side.tree.module(where) == path:
            taken = [alias.name for alias in node.names]
            for name in side.changed[path].exported if taken == ["*"] else taken:
                yield name, node
    for statement in file.tree.body:
        for name in _through(side, path, _reached(side, file, statement, path)):
            yield name, statement


def _reached(side: Side, file: File, statement: ast.stmt, path: str) -> set[str]:
    """Names of a file that a statement of another one reads when it runs, through functions of that one."""
    found, seen, waiting = set[str](), set[str](), [*_read_when_loaded(statement)]
    for node in waiting:
        chain: list[str] = []
        here = node
        while isinstance(here, ast.Attribute):
            chain.append(here.attr)
            here = here.value
        if not isinstance(here, ast.Name):
            continue
        meaning = side.meaning(file.path, here.id)
        found |= {name for where, name in side.along(file.path, meaning, chain[::-1]) if where == path}
        if isinstance(meaning, Unit) and meaning.path == path:
            found.add(meaning.name)
        own = file.binders.get(here.id, []) if here.id not in seen else []
        seen.add(here.id)
        waiting += (inner for each in own if isinstance(each, DEFINITIONS) for inner in walk(each))
    return found


def _through(side: Side, path: str, names: Iterable[str]) -> set[str]:
    """Names of a file with those that functions and classes of these names read."""
    units, found, waiting = side.changed[path].units, set(names), [*names]
    while waiting:
        name = waiting.pop()
        parts = [unit for unit in units.values() if name in (unit.qualname, unit.owner)]
        reads = (unit.content.reads for unit in parts if unit.kind in ("function", "class", "method"))
        fresh = set[str]().union(*reads) - found
        found |= fresh
        waiting += fresh & side.changed[path].bound
    return found


def _read_when_loaded(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that are worked out when its module is loaded."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS):
            waiting += [*getattr(node, "decorator_list", []), *all_defaults(node.args)]
            continue
        yield node
        waiting += children(node)


def _leads(side: Side, targets: list[str], user: str, loaded: frozenset[str]) -> bool:
    """Does loading one of some files load another one, where some are loaded already?"""
    if user in loaded:
        return False
    seen, waiting = {*targets, *loaded}, [*targets]
    while waiting and user not in seen:
        fresh = side.loaded_by(waiting.pop()) - seen
        seen |= fresh
        waiting += fresh
    return user in seen
