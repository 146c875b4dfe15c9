"""What the rest of the project sees of a module's names, in which a lifted function would show."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.annotations import quoted_in
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import DEFINITIONS
from codemods.program.scopes import ScopeTree
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Refusals, refuse
from codemods.rewrites.rules.annotated import defined_alike
from codemods.rewrites.rules.introspection import makes_definitions


def seen_from_outside(around: Surroundings, tree: ScopeTree, helper: Helper, *, moves: bool) -> Refusals:
    """Why the module can't have a name more, whichever it is; ``moves``: the helper leaves it."""
    if (look := around.look()) is not None:
        yield refuse("dynamic-names", helper.node, str(look))
    # What moves is imported back at the head of the file.
    line = around.late_star(0 if moves else helper.top.lineno)
    if line is not None:
        yield refuse("star-import", line, "this star import may bring any names")
    named = around.marked("pickles", ()) if moves and makes_definitions(helper) else None
    if named is not None:
        what = f"{helper.name} makes a class that is told its module, and {named}"
        yield refuse("introspection", helper.node, what)
    yield from defined_alike(around, tree, helper)
    if moves:
        yield from _annotated_inside(around, tree, helper)


def _annotated_inside(around: Surroundings, tree: ScopeTree, helper: Helper) -> Refusals:
    """Nobody evaluates annotations of functions and classes in a helper that moves where names may be
    missing: what only an annotation names is imported for type checkers alone.
    """
    inner = [node for node in ast.walk(helper.node) if isinstance(node, DEFINITIONS)][1:]
    stated = [(use.scope, use.node.id, use.node.lineno) for use in tree.annotated if inner]
    for node in inner:
        stated += [(tree.by_node[node], name, node.lineno) for name in quoted_in(tree, node)]
    for scope, name, line in stated:
        own = tree.owner(scope, name) is tree.module and scope.inside(helper.scope)
        place = around.marked("annotations", ()) if own else None
        if place is not None and not tree.is_builtin(scope, name):
            yield refuse("needs-source", line, f"an annotation in {helper.name} names {name}, and {place}")


def not_cleaned_up(lifting: Lifting, helper: Helper) -> Refusals:
    """The module does not delete functions or classes of its own, as one does that keeps its names tidy."""
    tree = lifting.tree
    for line, name in tree.once("deleted definitions", lambda: list(_deleted(tree))):
        yield refuse("dynamic-names", line, f"{name} is deleted here")


def _deleted(tree: ScopeTree) -> Iterator[tuple[int, str]]:
    """Places that delete a function or class of the module, and which."""
    for (owner, name), binders in tree.binders.items():
        if owner is tree.module and any(isinstance(b.node, DEFINITIONS) for b in binders):
            yield from ((binder.line, name) for binder in binders if binder.deletes)
