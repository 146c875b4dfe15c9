"""Each capture must have, when the call's arguments have been evaluated, the value that the helper would
read.
"""

from __future__ import annotations

import ast

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting, Need
from codemods.program.scopes import Use
from codemods.rewrites.refusals import Refusals, refuse


def captures_settled(lifting: Lifting, helper: Helper) -> Refusals:
    """At every call each capture is visible, bound, and not rebound as long as the helper may read it."""
    for use in lifting.analysis.uses(helper):
        for need in lifting.needs[helper]:
            yield from _visible(lifting, use, need)
            yield from _settled(lifting, helper, use, need)


def _visible(lifting: Lifting, use: Use, need: Need) -> Refusals:
    """The capture's name means the capture at the call."""
    name, owner = need
    line = use.node.lineno
    if lifting.tree.owner(use.scope, name) is not owner:
        yield refuse(
            "capture-shadowed-at-call", line, f"{name} means another variable where the helper is called"
        )
    for scope in use.scope.ancestors():
        if scope.deferred or scope.kind == "module":
            break
        if isinstance(scope.node, ast.ClassDef) and (scope.node.bases or scope.node.keywords):
            yield refuse(
                "capture-shadowed-at-call",
                line,
                f"{name} is looked up in the body of class {scope.name} first",
            )


def _settled(lifting: Lifting, helper: Helper, use: Use, need: Need) -> Refusals:
    """The capture is bound at the call and stays what it is."""
    name, owner = need
    if owner is lifting.tree.module or use.call is None:
        return
    flow = lifting.analysis.flow(owner)
    outlives = lifting.outlives(helper, need, use.call)
    at_entry = (helper.entry or {}).get(name)
    if any(need in lifting.needs[callee] for callee, _ in lifting.calls_in[helper]):
        at_entry = None
    for place in lifting.places(use.scope, use.call, owner):
        line = getattr(place.node, "lineno", use.node.lineno)
        bound_for_good = flow.bound_at(place.node, name) and not flow.unbinds(name)
        if at_entry is not None and (at_entry or bound_for_good):
            continue
        if not flow.bound_at(place.node, name):
            yield refuse("maybe-unbound", line, f"{name} may be unbound when line {line} is reached")
        if not (place.final or outlives):
            continue
        later = flow.rebound_after(place.node, name)
        if later is not None and place.final:
            yield refuse(
                "capture-rebound", later, f"{name} may be rebound here, after line {line} made it needed"
            )
        if later is not None:
            yield refuse(
                "capture-rebound",
                later,
                f"{name} may be rebound here while what line {line} started still reads it",
                "keep the variable in an object that both functions share (--cell NAME); where the helper "
                "must not see the later value, give that another name",
            )
