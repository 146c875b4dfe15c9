"""The helper's name must mean the helper, and nothing else, wherever it is used."""

from __future__ import annotations

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals, refuse


def bound_once(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing but the definition binds the name, unless calls can stay as they are."""
    if lifting.tree.owner(helper.outer, helper.name) is not helper.outer:
        yield refuse(
            "helper-rebound",
            helper.node,
            f"{helper.name} is declared global or nonlocal in {helper.outer.name}",
        )
    for statement, _ in lifting.tree.declared.get((helper.outer, helper.scope.name), []):
        yield refuse("helper-rebound", statement, f"{helper.name} is declared nonlocal here")
    binders = lifting.tree.binders.get((helper.outer, helper.scope.name), [])
    nodes = {binder.node for binder in binders}
    alike = {other for other in lifting.analysis.helpers if other.node in nodes} <= lifting.candidates
    plain = not lifting.needs[helper] and not any(binder.deletes for binder in binders)
    if alike and plain and lifting.enclosing(helper.outer) is None:
        # Where each definition was, the name is bound to the lifted function, and calls stay as they are.
        return
    for binder in binders:
        if binder.node is not helper.node:
            yield refuse(
                "helper-rebound",
                binder.line,
                f"{helper.name} is bound again here, so a call may not mean the definition in line "
                f"{helper.node.lineno}",
            )


def defined_first(lifting: Lifting, helper: Helper) -> Refusals:
    """The definition is on every path to a call, also to a call made on its behalf by another helper."""
    for callee in (helper, *sorted(lifting.reached(helper), key=lambda h: h.node.lineno)):
        if callee.outer.inside(helper.scope) or (callee is helper and helper.entry is not None):
            continue
        flow = lifting.analysis.flow(callee.outer)
        for use in lifting.analysis.rewritten_uses(helper):
            for place in lifting.places(use.scope, use.call or use.node, callee.outer):
                if not flow.bound_at(place.node, callee.scope.name):
                    line = getattr(place.node, "lineno", use.node.lineno)
                    yield refuse(
                        "maybe-unbound",
                        line,
                        f"{callee.name} may not be defined yet when line {line} is reached",
                        "define the helper at the top level of the function, above the first call",
                    )
