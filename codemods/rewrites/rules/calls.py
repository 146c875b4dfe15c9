"""The name means the helper wherever it is used, and every use is a call that can pass more.

Captures are passed as keyword arguments: each must have, once a call's other arguments have been evaluated,
the value that the helper would read.
"""

from __future__ import annotations

import ast

from codemods.program.lifting import Helper, Lifting, Need
from codemods.program.scopes import Use
from codemods.rewrites.refusals import Refusals, refuse


def bound_once(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing but the definition binds or declares the name."""
    tree, key = lifting.tree, (helper.outer, helper.scope.name)
    lines = [statement.lineno for statement, _ in tree.declared.get(key, ())]
    if tree.owner(helper.outer, helper.name) is not helper.outer:
        lines.append(helper.node.lineno)
    lines += [binder.line for binder in tree.binders.get(key, ()) if binder.node is not helper.node]
    for line in lines:
        what = f"{helper.name} is bound or declared here too, so a call may not mean the definition in line"
        yield refuse("helper-rebound", line, f"{what} {helper.node.lineno}")


def defined_first(lifting: Lifting, helper: Helper) -> Refusals:
    """The definition is on every path to a call, also to a call made on its behalf by another helper."""
    for callee in (helper, *sorted(lifting.reached(helper), key=lambda h: h.node.lineno)):
        if callee.outer.inside(helper.scope) or (callee is helper and helper.entry is not None):
            continue
        flow = lifting.analysis.flow(callee.outer)
        for use in lifting.analysis.uses(helper):
            for place in lifting.places(use.scope, use.call or use.node, callee.outer):
                if not flow.bound_at(place.node, callee.scope.name):
                    line = getattr(place.node, "lineno", use.node.lineno)
                    yield refuse(
                        "maybe-unbound",
                        line,
                        f"{callee.name} may not be defined yet when line {line} is reached",
                        "define the helper at the top level of the function, above the first call",
                    )


def only_called(lifting: Lifting, helper: Helper) -> Refusals:
    """Every use of the name is the callee of a call."""
    for use in lifting.analysis.uses(helper):
        if use.attribute is not None or use.call is None:
            what = "a value" if use.attribute is None else f"one that has the attribute {use.attribute}"
            yield refuse("value-use", use.node, f"{helper.name} is used as {what} here")


def no_shared_writes(lifting: Lifting, helper: Helper) -> Refusals:
    """Only the frame that owns a capture binds it."""
    tree, module = lifting.tree, lifting.tree.module
    declared = [key for key in tree.declared if key[0] is not helper.scope and helper.scope.inside(key[0])]
    written = [
        (b, key) for key in declared for b in tree.binders.get(key, ()) if b.scope.inside(helper.scope)
    ]
    needed = [(owner, name) for name, owner in lifting.needs[helper]]
    written += [
        (b, key) for key in needed for b in tree.binders.get(key, ()) if b.scope.frame() is not key[0]
    ]
    for binder, (owner, name) in written:
        if owner is not module:
            what = f"{name} is assigned by another function than the one whose variable it is"
            yield refuse("nonlocal-write", binder.line, what)


def captures_settled(lifting: Lifting, helper: Helper) -> Refusals:
    """At every call each capture is visible, bound, and not rebound as long as the helper may read it.

    No keyword at the call can meet a capture's.
    """
    needs = lifting.needs[helper]
    names = {None, *(name for name, _ in needs)} if needs else set()
    for use in lifting.analysis.uses(helper):
        for keyword in use.call.keywords if use.call is not None else ():
            if keyword.arg in names:
                what = "**kwargs" if keyword.arg is None else f"a keyword {keyword.arg}"
                yield refuse("kwargs-at-call", use.node, f"{helper.name} is called with {what} here")
        for need in needs:
            yield from _settled(lifting, helper, use, need)


def _settled(lifting: Lifting, helper: Helper, use: Use, need: Need) -> Refusals:
    """A capture means the same at a call, is bound there and stays what it is."""
    name, owner = need
    # A class body looks in its own namespace first.
    shadowed = lifting.tree.owner(use.scope, name) is not owner or isinstance(
        use.scope.space.node, ast.ClassDef
    )
    if shadowed:
        what = f"{name} may mean another variable where {helper.name} is called"
        yield refuse("capture-shadowed-at-call", use.node, what)
    if owner is lifting.tree.module or use.call is None:
        return
    flow = lifting.analysis.flow(owner)
    outlives = lifting.outlives(helper, need, use.call)
    at_entry = (helper.entry or {}).get(name)
    if any(need in lifting.needs[callee] for callee, _ in lifting.calls_in[helper]):
        at_entry = None
    for place in lifting.places(use.scope, use.call, owner):
        line = getattr(place.node, "lineno", use.node.lineno)
        bound = flow.bound_at(place.node, name)
        if at_entry is not None and (at_entry or (bound and not flow.unbinds(name))):
            continue
        if not bound:
            yield refuse("maybe-unbound", line, f"{name} may be unbound when line {line} is reached")
        later = flow.rebound_after(place.node, name) if place.final or outlives else None
        if later is not None:
            what = f"{name} may be rebound here, while what line {line} made or started still reads it"
            yield refuse("capture-rebound", later, what)
