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
from codemods.program.events import NotUnderstood
from codemods.program.globals import globals_of
from codemods.program.helpers import Helper, is_generator
from codemods.program.imports import imported_path
from codemods.program.lifting import Analysis, Lifting
from codemods.program.nodes import all_arguments, defaults_of
from codemods.program.scopes import Binder, Scope, Use
from codemods.program.source import own_statements
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
        self._annotations: dict[Scope, dict[str, ast.expr]] = {}

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
            kind=_kind(helper),
            inputs=parameters(node.args),
            returns=None if node.returns is None else ast.unparse(node.returns),
            decorators=tuple(ast.unparse(decorator) for decorator in node.decorator_list),
            captures=tuple(self._capture(helper, name, owner, uses) for name, owner in captured),
            mutates=mutations(self.tree, helper.scope),
            globals=self._globals(helper),
            calls=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is not None),
            values=tuple(_place(use) for use in self.analysis.uses(helper) if use.call is None),
            strategy=_strategy(self.within, helper),
            moved=_strategy(self.across, helper),
            context=wants_context(self.across, helper),
        )

    def _capture(self, helper: Helper, name: str, owner: Scope, uses: list[Use]) -> Capture:
        binders = self._binders(owner, name)
        reads = {use.node.lineno for read, scope, use in helper.reads if (read, scope) == (name, owner)}
        first = _BOUND.get(type(binders[0].node), "local") if binders else "local"
        return Capture(
            name=name,
            owner=owner.qualname,
            bound_as="nonlocal" if (owner, name) in self.tree.declared else first,
            origin=imported_path(binders[0].node, name) if binders else None,
            annotation=self._annotation(owner, name),
            bound=tuple(dict.fromkeys(binder.line for binder in binders)),
            rebound=self._rebound(owner, name),
            reads=tuple(sorted(reads)),
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

    def _annotation(self, owner: Scope, name: str) -> str | None:
        """Find the type that the program states for a variable: at the parameter, or at an assignment."""
        for binder in self._binders(owner, name):
            if isinstance(binder.node, ast.arg) and binder.node.annotation is not None:
                return _collected(owner.node, binder.node, ast.unparse(binder.node.annotation))
        if owner not in self._annotations:
            found = self._annotations[owner] = {}
            for node in own_statements(owner.node):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found.setdefault(node.target.id, node.annotation)
        stated = self._annotations[owner].get(name)
        return None if stated is None else ast.unparse(stated)

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
    kinds: dict[ast.arg | None, ParameterKind] = {arguments.vararg: "*args", arguments.kwarg: "**kwargs"}
    kinds |= dict.fromkeys(arguments.posonlyargs, "positional-only")
    kinds |= dict.fromkeys(arguments.args, "positional")
    kinds |= dict.fromkeys(arguments.kwonlyargs, "keyword-only")
    defaults = defaults_of(arguments)

    def text(node: ast.expr | None) -> str | None:
        return None if node is None else ast.unparse(node)

    return tuple(
        Parameter(argument.arg, kinds[argument], text(argument.annotation), text(defaults.get(argument)))
        for argument in all_arguments(arguments)
    )


def _collected(function: ast.AST, parameter: ast.arg, annotation: str) -> str:
    """The type of a parameter's variable; a starred one's annotation is that of its items."""
    arguments = getattr(function, "args", None)
    if isinstance(arguments, ast.arguments):
        if parameter is arguments.vararg:
            return f"tuple[{annotation}, ...]"
        if parameter is arguments.kwarg:
            return f"dict[str, {annotation}]"
    return annotation
