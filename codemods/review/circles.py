"""Names of a change that files outside it may read before they are there: they import what imports them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from codemods.facts.nodes import children
from codemods.review.early import TooEarly
from codemods.review.imports import Imports, Loads, Outer, packages_of
from codemods.review.side import Side

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
    stem, words = PurePosixPath(path.removesuffix("/__init__.py")).stem.encode(), [n.encode() for n in names]
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
        for chain, name in _read_when_loaded(statement):
            meaning = side.meaning(user, name)
            for used_path, used in side.along(user, meaning, chain):
                if used_path == path:
                    yield used, statement


def _read_when_loaded(statement: ast.stmt) -> Iterator[tuple[list[str], str]]:
    """Chains of attributes of names that a statement reads when its module is loaded."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS):
            waiting += [*getattr(node, "decorator_list", []), *node.args.defaults]
            waiting += filter(None, node.args.kw_defaults)
            continue
        chain: list[str] = []
        here = node
        while isinstance(here, ast.Attribute):
            chain.append(here.attr)
            here = here.value
        if chain and isinstance(here, ast.Name):
            yield chain[::-1], here.id
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
