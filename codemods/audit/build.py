"""Make the preflight report of a file."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from codemods.audit.helpers import HelperReporter
from codemods.audit.proposals import propose_state
from codemods.audit.report import FunctionReport, Report, SeamPlace, SeamReport
from codemods.program.globals import globals_of
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.nodes import first_line
from codemods.program.patches import ANY_NAME, Seam, find_seams, reading_functions
from codemods.program.project import read_tools
from codemods.program.repository import module_name, project_root, python_files, shown_path
from codemods.program.scopes import FunctionNode, Scope
from codemods.program.source import SourceError, read_source
from codemods.program.surroundings import Surroundings
from codemods.rewrites.lift.decision import Decision, decide
from codemods.rewrites.refusals import Refusal, refused_by
from codemods.rewrites.rules.namespace import seen_from_outside

_NAMED = 20


def build_report(
    path: Path, *, function: str | None = None, tests: Sequence[Path] = (), root: Path | None = None
) -> Report:
    """Analyse one function of a file, or each of its functions that have helpers.

    Without ``root`` nothing but the file and the tests is read, and what its classes' bases come from.

    Raises:
        SourceError: if the file can't be used, or has no such function.
    """
    base = root or project_root(path)
    read_tools(base / "pyproject.toml")
    source = read_source(path, shown_path(path, base))
    analysis = Analysis(source)
    chosen = _choose(analysis, function)
    name = module_name(path, base)
    seams = find_seams(tests, name, base) if tests else None
    replaced = _replaced(analysis, seams or ())
    files = () if root is None else python_files(base.resolve())
    contents = functools.cache(lambda: tuple((file, file.read_bytes()) for file in files))
    around = Surroundings(source, path.resolve(), base.resolve(), contents)
    reporter = HelperReporter(analysis, *_decisions(analysis, chosen, replaced, around))
    context = _Context(analysis, reporter, seams)
    functions = tuple(context.function(scope) for scope in chosen)
    moves = None
    if function is None:
        # Only here, as plans need what takes long to load.
        from codemods.audit.moves import propose_moves

        shown = [shown_path(folder, base) for folder in tests]
        moves = propose_moves(analysis, around, replaced, shown, tried=root is not None)
    told = {seam.name for report in functions for seam in report.seams or ()}
    return Report(
        version=3,
        path=source.path,
        module=name.name,
        lines=len(source.lines),
        functions=functions,
        other_seams=context.seams(lambda seam: seam.name not in told),
        tried=root is not None,
        tests=tuple(shown_path(folder, base) for folder in tests),
        definitions=None if moves is None else moves.definitions,
        plan=None if moves is None else moves.plan,
        no_plan=None if moves is None else moves.no_plan,
    )


def _choose(analysis: Analysis, function: str | None) -> list[Scope]:
    """The functions to report on."""
    if function is None:
        return list(dict.fromkeys(_outermost(helper.outer) for helper in analysis.helpers))
    found = analysis.tree.functions(function.replace(".<locals>", ""))
    if not found:
        path = analysis.source.path
        candidates = list(dict.fromkeys(_outermost(helper.outer).qualname for helper in analysis.helpers))
        if candidates:
            more = f" and {len(candidates) - _NAMED} more" if len(candidates) > _NAMED else ""
            way_out = "functions with helpers: " + ", ".join(candidates[:_NAMED]) + more
        else:
            way_out = "no function in it has helpers"
        raise SourceError(f"{path}: has no function {function}; {way_out}")
    return found


def _outermost(scope: Scope) -> Scope:
    """The outermost function around a scope, itself included."""
    return [around for around in scope.ancestors() if around.kind == "function"][-1]


@dataclass
class _Context:
    """Facts that all functions of the file share."""

    analysis: Analysis
    reporter: HelperReporter
    found_seams: tuple[Seam, ...] | None

    @cached_property
    def helpers(self) -> dict[Scope, list[Helper]]:
        """The helpers in every scope, those of inner functions included."""
        found: dict[Scope, list[Helper]] = {}
        for helper in self.analysis.helpers:
            for around in helper.outer.ancestors():
                found.setdefault(around, []).append(helper)
        return found

    def function(self, scope: Scope) -> FunctionReport:
        """The report of one function."""
        node = scope.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        helpers = self.helpers.get(scope, [])
        read = self.reporter.globals.read_in(scope)
        return FunctionReport(
            name=scope.name,
            qualname=scope.qualname,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            own_lines=_own_lines(node, helpers),
            helpers=tuple(self.reporter.report(helper) for helper in helpers),
            # Those that code in it reads, and those whose name is not known.
            seams=self.seams(lambda seam: seam.root in read or seam.name == ANY_NAME),
            loop=propose_state(self.analysis, scope, self.reporter.across),
        )

    def seams(self, chosen: Callable[[Seam], bool]) -> tuple[SeamReport, ...] | None:
        """Those seams that are chosen, grouped by name, with their readers; None if none were searched."""
        if self.found_seams is None:
            return None
        grouped: dict[str, list[Seam]] = {}
        for seam in filter(chosen, self.found_seams):
            grouped.setdefault(seam.name, []).append(seam)
        return tuple(
            SeamReport(
                name=name,
                rebinds=found[0].rebinds,
                read_by=tuple(filter(None, reading_functions(self.analysis.tree, found[0].root))),
                places=tuple(SeamPlace(seam.path, seam.line, seam.test, seam.how) for seam in found),
            )
            for name, found in sorted(grouped.items())
        )


def _decisions(
    analysis: Analysis, chosen: Sequence[Scope], seams: frozenset[str], around: Surroundings
) -> tuple[Decision, Decision]:
    """Decide a lift of all helpers of these functions: within the file, and into another one."""
    functions = set(chosen)
    helpers = [h for h in analysis.helpers if not functions.isdisjoint(h.outer.ancestors())]
    globals_ = globals_of(analysis)
    foreign = {helper: globals_.passed_to(helper, seams) for helper in helpers}

    def seen(moves: bool) -> dict[Helper, Refusal]:
        return refused_by(helpers, lambda h: seen_from_outside(around, analysis.tree, h, moves=moves))

    return (
        decide(analysis, helpers, refused=seen(False)),
        decide(analysis, helpers, foreign, seams, refused=seen(True)),
    )


def _replaced(analysis: Analysis, seams: Iterable[Seam]) -> frozenset[str]:
    """Globals that tests replace; all of them, if a test replaces one whose name only a run would tell."""
    names = {seam.root for seam in seams if seam.rebinds}
    if ANY_NAME in names:
        names |= {name for owner, name in analysis.tree.binders if owner is analysis.tree.module}
    return frozenset(names)


def _own_lines(node: FunctionNode, helpers: Sequence[Helper]) -> int:
    """How many lines of a function belong to none of its helpers."""
    lines = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for helper in helpers:
        lines -= set(range(first_line(helper.node), (helper.node.end_lineno or 0) + 1))
    return len(lines)
