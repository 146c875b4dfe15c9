"""One helper's part of the report."""

from __future__ import annotations

import ast

from codemods.audit.report import (
    Bound,
    Capture,
    HelperReport,
    Lifted,
    Place,
    Refused,
)
from codemods.program.globals import globals_of
from codemods.program.helpers import Helper
from codemods.program.imports import imported_path
from codemods.program.lifting import Analysis
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

    def report(self, helper: Helper) -> HelperReport:
        """Everything about one helper."""
        node = helper.node
        captured = dict.fromkeys((name, owner) for name, owner, _ in helper.reads)
        return HelperReport(
            name=helper.name,
            qualname=helper.qualname,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            captures=tuple(self._capture(name, owner) for name, owner in captured),
            calls=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is not None),
            values=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is None),
            strategy=_strategy(self.within, helper),
            moved=_strategy(self.across, helper),
        )

    def _capture(self, name: str, owner: Scope) -> Capture:
        binders = self._binders(owner, name)
        first = _BOUND.get(type(binders[0].node), "local") if binders else "local"
        return Capture(
            name=name,
            owner=owner.qualname,
            bound_as="nonlocal" if (owner, name) in self.tree.declared else first,
            origin=imported_path(binders[0].node, name) if binders else None,
            bound=tuple(dict.fromkeys(binder.line for binder in binders)),
        )

    def _binders(self, owner: Scope, name: str) -> list[Binder]:
        """Everything that binds or unbinds a variable, in the order of the text."""
        return sorted(self.tree.binders.get((owner, name), []), key=lambda binder: binder.line)


def _place(use: Use) -> Place:
    return Place(use.node.lineno, use.scope.qualname)


def _strategy(decision: Decision, helper: Helper) -> Lifted | Refused:
    refusal = decision.refused.get(helper)
    if refusal is not None:
        return Refused(refusal.code, refusal.line, refusal.reason, refusal.way_out)
    return Lifted(tuple(name for name, _ in decision.lifting.needs[helper]))
