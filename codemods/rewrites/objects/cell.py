"""Which variables of an outer function its helpers need to share, and whether an object can hold them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Lifting, Need
from codemods.program.scopes import Binder, Scope
from codemods.rewrites.objects.classes import (
    Kept,
    can_be_attribute,
    has_room_above,
    is_followed,
    own_statements,
)
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, refuse, refused_by
from codemods.rewrites.rules.dynamic import seen_early


def shared(analysis: Analysis, helper: Helper) -> list[Need]:
    """Variables of the outer function that the helper uses and that are bound more than once."""
    tree, found = analysis.tree, dict[Need, None]()
    for name, owner, _ in helper.reads:
        found[name, owner] = None
    for (owner, name), statements in tree.declared.items():
        if any(scope.inside(helper.scope) for _, scope in statements):
            found[name, owner] = None
    return [
        (name, owner)
        for name, owner in found
        if owner is helper.outer
        and len(tree.binders.get((owner, name), ())) > 1
        and analysis.helper_at(owner, name) is None
    ]


def find_boxes(
    analysis: Analysis, helpers: Collection[Helper], accepted: Accepted | None = None
) -> tuple[list[Kept], dict[Helper, Refusal]]:
    """Boxes, one an outer function, and why some helpers can't have one."""
    refused = refused_by(
        helpers, lambda h: (p for need in shared(analysis, h) for p in _problem(analysis, *need)), accepted
    )
    sharing = sorted(
        (h for h in helpers if h not in refused and shared(analysis, h)), key=lambda h: h.node.lineno
    )
    boxes = []
    for outer in dict.fromkeys(helper.outer for helper in sharing):
        chosen = [helper for helper in sharing if helper.outer is outer]
        variables = dict.fromkeys(name for helper in chosen for name, _ in shared(analysis, helper))
        boxes.append(_box(analysis, outer, chosen, list(variables)))
    return boxes, refused


def _box(analysis: Analysis, outer: Scope, helpers: Sequence[Helper], variables: Sequence[str]) -> Kept:
    tree = analysis.tree
    names: dict[tuple[int, int], ast.Name] = {}
    given, declarations = [], list[ast.Nonlocal]()
    for name in variables:
        for use in tree.uses.get((outer, name), []):
            names[use.position] = use.node
        for binder in tree.binders.get((outer, name), []):
            if isinstance(binder.node, ast.Name):
                names[binder.node.lineno, binder.node.col_offset] = binder.node
            else:
                given.append(name)
        for statement, _ in tree.declared.get((outer, name), []):
            if isinstance(statement, ast.Nonlocal) and statement not in declarations:
                declarations.append(statement)
    return Kept(
        outer,
        tuple(helpers),
        tuple(variables),
        tuple(given),
        own_statements(outer)[0],
        tuple(names.values()),
        tuple(declarations),
    )


def _problem(analysis: Analysis, name: str, owner: Scope) -> Refusals:
    """Why a variable can't be an attribute."""
    seen = seen_early(analysis.tree, owner)
    if seen is not None:
        yield refuse("dynamic-names", seen, f"{seen.id} is used here, and {name} would be no variable")
    for node, what in chain(_bound(analysis, name, owner), _read(analysis, name, owner)):
        yield refuse("layout", node, what)
    for node, what in _unbound(analysis, name, owner):
        way_out = "bind the variable first thing in the outer function, and don't delete it"
        yield refuse("maybe-unbound", node, what, way_out)


def _bound(analysis: Analysis, name: str, owner: Scope) -> Iterator[tuple[ast.AST, str]]:
    """Places where a variable is bound and an attribute can't be, or where the object can't be made."""
    source, tree = analysis.source, analysis.tree
    # The object is made in a line of its own, first thing in the function.
    at = own_statements(owner)[0]
    if not has_room_above(source, at) or is_followed(source, at):
        yield at, f"an object for {name} can't be made in a line of its own here"
    for binder in tree.binders.get((owner, name), []):
        annotated = isinstance(tree.parents.get(binder.node), ast.AnnAssign)
        if annotated or not _assignable(analysis, binder):
            yield binder.node, f"{name} is bound here, where an attribute can't be"
    for statement, _ in tree.declared.get((owner, name), []):
        line = source.lines[statement.lineno - 1]
        if line.strip() != source.segment(statement).strip() and ";" in line:
            yield statement, "this declaration shares its line"


def _assignable(analysis: Analysis, binder: Binder) -> bool:
    node = binder.node
    if isinstance(node, ast.arg):
        return binder.scope.kind == "function"
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
        return isinstance(node, ast.Name)
    parent = analysis.tree.parents.get(node)
    return not isinstance(parent, ast.NamedExpr) and binder.scope.kind != "class"


def _read(analysis: Analysis, name: str, owner: Scope) -> Iterator[tuple[ast.AST, str]]:
    """Places where a variable stands and an attribute can't."""
    tree = analysis.tree
    uses = tree.uses.get((owner, name), [])
    in_text = {use.position for use in uses if use.in_text}
    nodes = [use.node for use in uses]
    nodes += [b.node for b in tree.binders.get((owner, name), []) if isinstance(b.node, ast.Name)]
    for node in nodes:
        if not can_be_attribute(analysis, node, in_text=(node.lineno, node.col_offset) in in_text):
            yield node, f"{name} can't be written as an attribute here"
    for use in uses:
        if any(scope.kind == "class" and scope.inside(owner) for scope in use.scope.ancestors()):
            yield use.node, f"{name} is used in a class body here"


def _unbound(analysis: Analysis, name: str, owner: Scope) -> Iterator[tuple[ast.AST, str]]:
    """Places where a read may find the variable unbound, or that unbind it."""
    tree, flow = analysis.tree, analysis.flow(owner)
    binders = tree.binders.get((owner, name), [])
    if flow.unbinds(name) or any(binder.deletes for binder in binders):
        yield max(binders, key=lambda each: each.line).node, f"{name} is deleted somewhere"
    reads = [(use.scope, use.node) for use in tree.uses.get((owner, name), []) if use.written]
    for binder in binders:
        if isinstance(tree.parents.get(binder.node), ast.AugAssign) and isinstance(binder.node, ast.Name):
            reads.append((binder.scope, binder.node))
    everywhere = Lifting(analysis, set(), {})
    for scope, node in reads:
        for place in everywhere.places(scope, node, owner):
            if not (flow.knows(place.node) and flow.bound_at(place.node, name)):
                line = getattr(place.node, "lineno", node.lineno)
                yield place.node, f"{name} may be unbound when line {line} is reached"
