"""Captures that nested functions write: shared variables, not values."""

from __future__ import annotations

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals, refuse


def no_shared_writes(lifting: Lifting, helper: Helper) -> Refusals:
    """Only the frame that owns a capture binds it."""
    tree = lifting.tree
    for owner, name in tree.declared:
        if owner is tree.module or not helper.scope.inside(owner) or helper.scope is owner:
            continue
        for binder in tree.binders.get((owner, name), []):
            if binder.scope.inside(helper.scope):
                yield refuse("nonlocal-write", binder.line, f"{name} of the outer function is assigned here")
    for name, owner in lifting.needs[helper]:
        if owner is tree.module:
            continue
        for binder in tree.binders.get((owner, name), []):
            if binder.scope.frame() is not owner:
                what = f"{name} is assigned by another function or generator here"
                yield refuse(
                    "nonlocal-write",
                    binder.line,
                    what,
                    "keep the variable in an object (box) that both functions share",
                )
