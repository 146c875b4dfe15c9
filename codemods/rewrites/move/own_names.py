"""What a source does itself with the names of its module, of which a plan takes some to another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.program.namespaces import (
    EVALUATORS,
    evaluating,
    key_asked,
    reaching,
    sees_given_only,
)
from codemods.program.scopes import ScopeTree, Use
from codemods.rewrites.move.definitions import Definition
from codemods.rewrites.refusals import Refusals, refuse

# What sees the names of the module from inside a function, too.
_ANYWHERE = ("eval", "exec", "globals")
_RUNS = (
    "name the names: give eval or exec a dictionary of those that the text may read and set, as in "
    "exec(text, names), and take them from it below, as in rate = names['rate']"
)
_LISTS = "name the names that are meant: write them out, as in {'rate': rate, 'steps': steps}"


@dataclass(frozen=True, slots=True)
class _Look:
    """A place that sees names of the module. One that ``reads`` asks for a single ``name``, which may be any
    if that is None; all others do more.
    """

    node: ast.AST
    what: str
    reads: bool = False
    name: str | None = None


def not_seen_by_itself(tree: ScopeTree, definition: Definition) -> Refusals:
    """No code of the source lists or binds names by what they are called, nor reads one so before its
    definition: what moves is imported at the head of the file.
    """
    for look in _looks(tree):
        early = getattr(look.node, "lineno", 0) <= (definition.node.end_lineno or 0)
        if not look.reads or (early and look.name in (None, definition.name)):
            runs = look.what in ("eval", "exec")
            yield refuse("dynamic-names", look.node, f"{look.what} is used here", _RUNS if runs else _LISTS)


def asked_by_itself(tree: ScopeTree, names: frozenset[str]) -> frozenset[str]:
    """Names that the source asks its module for by texts."""
    found = {look.name for look in _looks(tree)}
    return names if None in found else names.intersection(filter(None, found))


def _looks(tree: ScopeTree) -> list[_Look]:
    return tree.once("looks at its names", lambda: list(_found(tree)))


def _found(tree: ScopeTree) -> Iterator[_Look]:
    for name, use in evaluating(tree):
        if name in _ANYWHERE or use.scope.space is tree.module:
            yield from _look(tree, name, use)
    for node, path in reaching(tree):
        yield _Look(node, path, reads=path == "sys.modules" and _is_asked(tree, node))


def _is_asked(tree: ScopeTree, modules: ast.AST) -> bool:
    """Whether one of ``sys.modules`` is only asked for an attribute by its name."""
    module = tree.parents[modules]
    call = tree.parents.get(module)
    match call:
        case ast.Call(ast.Name("getattr" | "hasattr"), [first, _, *_]) if first is module:
            return isinstance(module, ast.Subscript)
    return False


def _look(tree: ScopeTree, name: str, use: Use) -> Iterator[_Look]:
    call = use.call
    if call is None:
        yield _Look(use.node, name)
    elif sees_given_only(call, EVALUATORS[name]):
        return
    elif name == "eval" and use.scope.space is not tree.module:
        yield _Look(use.node, name, reads=True)
    elif (key := key_asked(tree, call)) is not None:
        text = str(key.value) if isinstance(key, ast.Constant) else None
        yield _Look(use.node, name, reads=True, name=text)
    else:
        yield _Look(use.node, name)
