"""Code of a source that asks its module for names, of which a plan takes some to another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.namespaces import EVALUATORS, evaluating, key_asked, reaching, sees_given_only
from codemods.program.scopes import ScopeTree
from codemods.rewrites.move.definitions import Definition
from codemods.rewrites.refusals import Refusals, refuse

# What sees the names of the module from inside a function, too.
_ANYWHERE = ("eval", "exec", "globals")
_RUNS = (
    "name the names: give eval or exec a dictionary of those that the text may read and set, as in "
    "exec(text, names), and take them from it below, as in rate = names['rate']"
)
_LISTS = "name the names that are meant: write them out, as in {'rate': rate, 'steps': steps}"


def not_seen_by_itself(tree: ScopeTree, definition: Definition) -> Refusals:
    """No code of the source lists or binds names by what they are called, nor reads one so before its
    definition: what moves is imported at the head of the file.
    """
    for node, what, reads in _asking(tree):
        if not reads or getattr(node, "lineno", 0) <= (definition.node.end_lineno or 0):
            yield refuse(
                "dynamic-names", node, f"{what} is used here", _RUNS if what in ("eval", "exec") else _LISTS
            )


def asks_itself(tree: ScopeTree) -> bool:
    """Tell whether the source asks its module for names by texts."""
    return any(_asking(tree))


def _asking(tree: ScopeTree) -> Iterator[tuple[ast.AST, str, bool]]:
    """Places that see names of the module, by what, and whether they only read them."""
    for name, use in evaluating(tree):
        call = use.call
        if name not in _ANYWHERE and use.scope.space is not tree.module:
            continue
        if call is None or not sees_given_only(call, EVALUATORS[name]):
            inside = name == "eval" and use.scope.space is not tree.module
            yield use.node, name, call is not None and (inside or key_asked(tree, call) is not None)
    for node, path in reaching(tree):
        yield node, path, False
