"""One helper's part of the report."""

from __future__ import annotations

import ast
import contextlib

from codemods.audit.proposals import wants_context
from codemods.audit.report import (
    Bound,
    Capture,
    HelperReport,
    Lifted,
    Place,
    Refused,
)
from codemods.program.events import NotUnderstood
from codemods.program.globals import globals_of
from codemods.program.helpers import Helper
from codemods.program.imports import imported_path
from codemods.program.lifting import Analysis, Lifting
from codemods.program.scopes import Binder, Scope, Use
from codemods.rewrites.lift.decision import Decision

_BOUND: dict[type[ast.AST], Bound] = {
    ast.arg: "parameter",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.FunctionDef: "helper",
    ast.AsyncFunctionDef: "helper",
    ast.ClassDef: "class",
    ast.ExceptHandler: "exception",
    ast.MatchAs: "pattern",
    ast.MatchStar: "pattern",
    ast.MatchMapping: "pattern",
}


class HelperReporter:
    """Makes the reports of one file's helpers, given what was decided about them."""

    def __init__(self, analysis: Analysis, within: Decision, across: Decision) -> None:
        """``within`` is the decision for a lift in the same file, ``across`` for one into another file."""
        self.analysis = analysis
        self.tree = analysis.tree
        self.globals = globals_of(analysis)
        self.within = within
        self.across = across
        self._nothing_lifted = Lifting(analysis, set(), {})

    def report(self, helper: Helper) -> HelperReport:
        """Everything about one helper."""
        node = helper.node
        uses = [use for use in self.analysis.uses(helper) if not use.scope.inside(helper.scope)]
        captured = dict.fromkeys((name, owner) for name, owner, _ in helper.reads)
        return HelperReport(
            name=helper.name,
            qualname=helper.qualname,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            captures=tuple(self._capture(helper, name, owner, uses) for name, owner in captured),
            calls=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is not None),
            values=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is None),
            strategy=_strategy(self.within, helper),
            moved=_strategy(self.across, helper),
            context=wants_context(self.across, helper),
        )

    def _capture(self, helper: Helper, name: str, owner: Scope, uses: list[Use]) -> Capture:
        binders = self._binders(owner, name)
        first = _BOUND.get(type(binders[0].node), "local") if binders else "local"
        return Capture(
            name=name,
            owner=owner.qualname,
            bound_as="nonlocal" if (owner, name) in self.tree.declared else first,
            origin=imported_path(binders[0].node, name) if binders else None,
            bound=tuple(dict.fromkeys(binder.line for binder in binders)),
            rebound=self._rebound(owner, name),
            unbound_at=self._unbound_at(name, owner, uses),
        )

    def _unbound_at(self, name: str, owner: Scope, uses: list[Use]) -> tuple[int, ...]:
        """Lines of uses where the variable may be unbound; all of them where the flow is not understood."""
        found = {use.node.lineno for use in uses}
        with contextlib.suppress(NotUnderstood):
            flow = self.analysis.flow(owner)
            places = self._nothing_lifted.places
            found = {
                use.node.lineno
                for use in uses
                for place in places(use.scope, use.call or use.node, owner)
                if not flow.bound_at(place.node, name)
            }
        return tuple(sorted(found))

    def _binders(self, owner: Scope, name: str) -> list[Binder]:
        """Everything that binds or unbinds a variable, in the order of the text."""
        return sorted(self.tree.binders.get((owner, name), []), key=lambda binder: binder.line)

    def _rebound(self, owner: Scope, name: str) -> tuple[int, ...]:
        """Lines of bindings and unbindings that some path reaches after another one, or themselves (a loop),
        and of those in functions inside.

        Where the flow of control is not understood: all but the first.
        """
        binders = self._binders(owner, name)
        try:
            found = self.analysis.flow(owner).bound_again(name)
        except NotUnderstood:
            found = {binder.line for binder in binders[1:]}
        found |= {binder.line for binder in binders if binder.scope.frame() is not owner.frame()}
        return tuple(sorted(found))


def _place(use: Use) -> Place:
    return Place(use.node.lineno, use.scope.qualname)


def _strategy(decision: Decision, helper: Helper) -> Lifted | Refused:
    refusal = decision.refused.get(helper)
    if refusal is not None:
        return Refused(refusal.code, refusal.line, refusal.reason, refusal.way_out)
    return Lifted(tuple(name for name, _ in decision.lifting.needs[helper]))
