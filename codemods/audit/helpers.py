"""One helper's part of the report."""

from __future__ import annotations

import ast
import contextlib

from codemods.audit.effects import mutations
from codemods.audit.proposals import wants_context
from codemods.audit.report import (
    Bound,
    Capture,
    Global,
    HelperKind,
    HelperReport,
    Lifted,
    Parameter,
    ParameterKind,
    Place,
    Refused,
)
from codemods.audit.variables import Variables
from codemods.decide.decision import Decision
from codemods.facts.events import NotUnderstood
from codemods.facts.globals import globals_of
from codemods.facts.helpers import Helper, is_generator
from codemods.facts.imports import imported_path
from codemods.facts.lifting import Analysis, Lifting
from codemods.facts.scopes import Binder, Scope, Use

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
        self.variables = Variables(analysis)

    def report(self, helper: Helper) -> HelperReport:
        """Everything about one helper."""
        node = helper.node
        uses = [use for use in self.analysis.uses(helper) if not use.scope.inside(helper.scope)]
        return HelperReport(
            name=helper.name,
            qualname=helper.qualname,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            kind=_kind(helper),
            inputs=parameters(node.args),
            returns=None if node.returns is None else ast.unparse(node.returns),
            decorators=tuple(ast.unparse(decorator) for decorator in node.decorator_list),
            captures=tuple(self._capture(helper, name, owner, uses) for name, owner in _captured(helper)),
            mutates=mutations(self.tree, helper.scope),
            globals=self._globals(helper),
            calls=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is not None),
            values=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is None),
            strategy=_strategy(self.within, helper),
            moved=_strategy(self.across, helper),
            context=wants_context(self.across, helper),
        )

    def _capture(self, helper: Helper, name: str, owner: Scope, uses: list[Use]) -> Capture:
        binders = self.variables.binders(owner, name)
        reads = {use.node.lineno for read, scope, use in helper.reads if (read, scope) == (name, owner)}
        return Capture(
            name=name,
            owner=owner.qualname,
            bound_as=self._bound_as(name, binders, owner),
            origin=imported_path(binders[0].node, name) if binders else None,
            annotation=self.variables.annotation(owner, name),
            bound=tuple(dict.fromkeys(binder.line for binder in binders)),
            rebound=self.variables.rebound(owner, name),
            reads=tuple(sorted(reads)),
            unbound_at=self._unbound_at(name, owner, uses),
        )

    def _bound_as(self, name: str, binders: list[Binder], owner: Scope) -> Bound:
        if (owner, name) in self.tree.declared:
            return "nonlocal"
        return _BOUND.get(type(binders[0].node), "local") if binders else "local"

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

    def _globals(self, helper: Helper) -> tuple[Global, ...]:
        found = []
        for name, line in sorted(self.globals.read_in(helper.scope).items()):
            known = self.globals.look_up(name)
            if known.imports:
                origin = imported_path(known.imports[0], name) or name
            elif known.origin == "own":
                binders = self.tree.binders[self.tree.module, name]
                origin = f"line {binders[0].line}"
            else:
                origin = "builtins" if known.origin == "builtin" else ""
            found.append(Global(name, known.origin, origin, line))
        return tuple(found)


def _captured(helper: Helper) -> list[tuple[str, Scope]]:
    """Captures in the order in which they are first read, each with its scope."""
    return list(dict.fromkeys((name, owner) for name, owner, _ in helper.reads))


def _kind(helper: Helper) -> HelperKind:
    if isinstance(helper.node, ast.AsyncFunctionDef):
        return "async generator" if is_generator(helper.node) else "coroutine"
    return "generator" if helper.lazy else "function"


def _place(use: Use) -> Place:
    return Place(use.node.lineno, use.scope.qualname)


def _strategy(decision: Decision, helper: Helper) -> Lifted | Refused:
    refusal = decision.refused.get(helper)
    if refusal is not None:
        return Refused(refusal.code, refusal.line, refusal.reason, refusal.way_out)
    return Lifted(tuple(name for name, _ in decision.lifting.needs[helper]))


def parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a signature, in its order."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*([None] * missing), *arguments.defaults]
    found = []
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        kind: ParameterKind = "positional-only" if index < len(arguments.posonlyargs) else "positional"
        found.append(_parameter(argument, kind, default))
    if arguments.vararg is not None:
        found.append(_parameter(arguments.vararg, "*args", None))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(argument, "keyword-only", default))
    if arguments.kwarg is not None:
        found.append(_parameter(arguments.kwarg, "**kwargs", None))
    return tuple(found)


def _parameter(argument: ast.arg, kind: ParameterKind, default: ast.expr | None) -> Parameter:
    annotation = None if argument.annotation is None else ast.unparse(argument.annotation)
    return Parameter(argument.arg, kind, annotation, None if default is None else ast.unparse(default))
