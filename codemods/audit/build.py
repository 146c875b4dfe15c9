"""Make the preflight report of a file."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.audit.report import (
    Answer,
    Bound,
    Capture,
    FunctionReport,
    HelperReport,
    Place,
    Report,
    SeamReport,
)
from codemods.program.globals import globals_of
from codemods.program.lifting import Analysis, Helper
from codemods.program.nodes import ANY_NAME, first_line
from codemods.program.patches import Seam, find_seams, reading_functions
from codemods.program.repository import module_name, project_root, python_files, read_tools, shown_path
from codemods.program.scopes import Scope, Use
from codemods.program.source import SourceError, read_source
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Accepted, Refusal, refused_by
from codemods.rewrites.rules.assumptions import seen_from_outside
from codemods.rewrites.rules.decision import Decision, decide
from esper_harness.report.plain import listed

_NAMED = 20
_REASON = "say why it holds"
_BOUND: dict[type[ast.AST], Bound] = {
    ast.arg: "parameter",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.FunctionDef: "helper",
    ast.AsyncFunctionDef: "helper",
    ast.ClassDef: "class",
}


def build_report(
    path: Path,
    *,
    function: str | None = None,
    tests: Sequence[Path] = (),
    root: Path | None = None,
    accept: Sequence[str] = (),
) -> Report:
    """Analyse one function of a file, or each of its functions that have helpers; ``accept`` are codes of
    assumptions.

    Raises:
        SourceError: if the file can't be used, or has no such function.
        Unusable: if a code can't be accepted.
    """
    accepted = Accepted.of(dict.fromkeys(accept, _REASON))
    root = root or project_root(path)
    read_tools(root / "pyproject.toml")
    source = read_source(path, shown_path(path, root))
    analysis = Analysis(source)
    chosen = _choose(analysis, function)
    name = module_name(path, root)
    seams = find_seams(tests, name, root) if tests else None
    replaced = _replaced(analysis, seams or ())
    files = functools.cache(lambda: tuple((file, file.read_bytes()) for file in python_files(root.resolve())))
    around = Surroundings(source, path.resolve(), root.resolve(), files)
    context = _Context(analysis, *_decisions(analysis, chosen, replaced, around, accepted), seams)
    functions = tuple(context.function(scope) for scope in chosen)
    told = {seam.name for each in functions for seam in each.seams or ()}
    report = Report(
        version=7,
        path=source.path,
        module=name.name,
        lines=len(source.lines),
        functions=functions,
        other_seams=context.seams(lambda seam: seam.name not in told),
        accepted=tuple(accepted.reasons),
    )
    if function is not None:
        return report
    # Only here, as plans need what takes long to load.
    from codemods.audit.moves import propose_moves

    shown = [shown_path(folder, root) for folder in tests]
    return propose_moves(report, analysis, around, replaced, shown, context.liftable, accepted)


def _choose(analysis: Analysis, function: str | None) -> list[Scope]:
    """Find the functions to report on."""
    if function is None:
        return list(dict.fromkeys(helper.outermost for helper in analysis.helpers))
    found = analysis.tree.functions(function.replace(".<locals>", ""))
    if not found:
        path = analysis.source.path
        candidates = list(dict.fromkeys(helper.outermost.qualname for helper in analysis.helpers))
        named = f"functions with helpers: {listed(candidates, _NAMED)}"
        way_out = named if candidates else "no function in it has helpers"
        raise SourceError(f"{path}: has no function {function}; {way_out}")
    return found


@dataclass(frozen=True, slots=True)
class _Context:
    """Facts that all functions of a file share: what was decided about a lift of their helpers within the
    file and into another one, and which names tests replace.
    """

    analysis: Analysis
    within: Decision
    across: Decision
    found_seams: tuple[Seam, ...] | None

    def function(self, scope: Scope) -> FunctionReport:
        """Make the report of one function."""
        node = scope.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        helpers = [helper for helper in self.analysis.helpers if scope in helper.outer.ancestors()]
        read = globals_of(self.analysis).read_in(scope)
        own = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for helper in helpers:
            own -= set(range(first_line(helper.node), (helper.node.end_lineno or 0) + 1))
        return FunctionReport(
            name=scope.name,
            qualname=scope.qualname,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            own_lines=len(own),
            helpers=tuple(map(self._helper, helpers)),
            # Those that code in it reads, and those whose name is not known.
            seams=self.seams(lambda seam: seam.root in read or seam.name == ANY_NAME),
        )

    def liftable(self, function: str) -> list[str]:
        """List helpers defined directly in a function that can be lifted into another file."""
        own = [helper for helper in self.analysis.helpers if helper.outer.qualname == function]
        kept = {helper.name for helper in own if helper in self.across.refused}
        return list(dict.fromkeys(helper.name for helper in own if helper.name not in kept))

    def seams(self, chosen: Callable[[Seam], bool]) -> tuple[SeamReport, ...] | None:
        """Group those seams that are chosen by name, with their readers; None if none were searched."""
        if self.found_seams is None:
            return None
        grouped: dict[str, list[Seam]] = {}
        for seam in filter(chosen, self.found_seams):
            grouped.setdefault(seam.name, []).append(seam)
        tree = self.analysis.tree
        return tuple(
            SeamReport(name, tuple(filter(None, reading_functions(tree, found[0].root))), tuple(found))
            for name, found in sorted(grouped.items())
        )

    def _helper(self, helper: Helper) -> HelperReport:
        """Make the report of one helper."""
        node, uses = helper.node, self.analysis.uses(helper)
        captured = dict.fromkeys((name, owner) for name, owner, _ in helper.reads)
        return HelperReport(
            name=helper.name,
            qualname=helper.qualname,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            captures=tuple(self._capture(name, owner) for name, owner in captured),
            calls=tuple(_place(use) for use in uses if use.call is not None),
            values=tuple(_place(use) for use in uses if use.call is None),
            here=_answer(self.within, helper),
            elsewhere=_answer(self.across, helper),
        )

    def _capture(self, name: str, owner: Scope) -> Capture:
        tree = self.analysis.tree
        binders = sorted(tree.binders.get((owner, name), []), key=lambda binder: binder.line)
        first = _BOUND.get(type(binders[0].node), "local") if binders else "local"
        bound_as: Bound = "nonlocal" if (owner, name) in tree.declared else first
        return Capture(name, owner.qualname, bound_as, tuple(dict.fromkeys(b.line for b in binders)))


def _place(use: Use) -> Place:
    return Place(use.node.lineno, use.scope.qualname)


def _answer(decision: Decision, helper: Helper) -> Answer:
    refusal = decision.refused.get(helper)
    if refusal is not None:
        return Answer("refused", refusal=refusal)
    return Answer("lifted", tuple(name for name, _ in decision.lifting.needs[helper]))


def _decisions(
    analysis: Analysis,
    chosen: Sequence[Scope],
    seams: frozenset[str],
    around: Surroundings,
    accepted: Accepted,
) -> tuple[Decision, Decision]:
    """Decide a lift of all helpers of these functions: within the file, and into another one."""
    functions = set(chosen)
    helpers = [h for h in analysis.helpers if not functions.isdisjoint(h.outer.ancestors())]
    globals_ = globals_of(analysis)
    foreign = {helper: globals_.passed_to(helper, seams) for helper in helpers}

    def seen(moves: bool) -> dict[Helper, Refusal]:
        return refused_by(
            helpers, lambda h: seen_from_outside(around, analysis.tree, h, moves=moves), accepted
        )

    return (
        decide(analysis, helpers, refused=seen(False), accepted=accepted),
        decide(analysis, helpers, foreign, seams, refused=seen(True), accepted=accepted),
    )


def _replaced(analysis: Analysis, seams: Iterable[Seam]) -> frozenset[str]:
    """Find globals that tests replace; all, if a test replaces one whose name only a run would tell."""
    names = {seam.root for seam in seams if seam.rebinds}
    if ANY_NAME in names:
        names |= {name for owner, name in analysis.tree.binders if owner is analysis.tree.module}
    return frozenset(names)
