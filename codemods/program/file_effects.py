"""What statements of a file may do, by what its imports and definitions say of names."""

from __future__ import annotations

import ast
from functools import partial

from codemods.program.effects import Definition, Effects
from codemods.program.scopes import ScopeTree, dotted


def effects_of(tree: ScopeTree, *, annotations: bool = True) -> Effects:
    """Answers for a file; without ``annotations``, what evaluating them does is left out."""
    lazy = not annotations or "annotations" in tree.source.future_flags
    return tree.once(f"effects {lazy}", lambda: Effects(partial(_meaning, tree), lazy=lazy))


def _meaning(tree: ScopeTree, node: ast.expr) -> str | Definition | None:
    path = dotted(tree, tree.scope_of(node), node)
    if path is not None:
        return path.removeprefix("builtins.")
    if isinstance(node, ast.Name):
        owner = tree.owner(tree.scope_of(node), node.id)
        binders = tree.binders.get((owner, node.id), []) if owner is tree.module else []
        if len(binders) == 1 and isinstance(binders[0].node, Definition):
            return binders[0].node
    return None
