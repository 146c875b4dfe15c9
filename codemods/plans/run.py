"""From a file or a plan to composed files and a report."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from codemods.analysis.helpers import Helper
from codemods.analysis.lifting import Analysis
from codemods.analysis.refusals import Refusal
from codemods.analysis.source import Source, SourceError, read_source
from codemods.plans.compose import Request, TargetError
from codemods.plans.model import Plan, PlanError, line_of, load_plan
from codemods.plans.modes import Modes, Outcome, compose_with
from codemods.plans.modules import Layout, find_root
from codemods.plans.seams import Seam, find_seams, is_star_imported


@dataclass(frozen=True, slots=True)
class HelperReport:
    """What became of one helper. ``status`` is lifted, refused, or kept where nobody asked for it."""

    name: str
    qualname: str
    path: str
    line: int
    status: str
    refusal: Refusal | None
    captures: tuple[str, ...]
    target: str | None
    call_sites: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it is in the tree (None: it is not there) and as it would be."""

    path: Path
    shown: str
    before: bytes | None
    after: bytes

    @property
    def changed(self) -> bool:
        """Whether writing it would change anything."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run, before anything is written."""

    helpers: tuple[HelperReport, ...]
    files: tuple[FileChange, ...]
    seams: tuple[Seam, ...] = ()

    @property
    def refused(self) -> tuple[HelperReport, ...]:
        """Helpers that were asked for and are not lifted."""
        return tuple(helper for helper in self.helpers if helper.status == "refused")


class RequestError(Exception):
    """Something that was asked for does not exist; the message is one line."""


def extract_file(
    path: Path,
    function: str | None,
    names: Collection[str],
    to: Path | None,
    residual: Collection[str] = (),
    captures: str = "params",
) -> Report:
    """Lift helpers of one file, next to the outer function or to another file.

    ``residual`` names helpers of which a closure is to stay that forwards to the lifted function;
    with ``captures`` "context" the captures are collected in a frozen dataclass.

    Raises:
        SourceError, RequestError, TargetError: if the input can't be used.
    """
    source = read_source(path)
    analysis = Analysis(source)
    root = find_root(path.parent)
    layout = Layout(root, path.resolve(), path.resolve())
    scope = _of_function(analysis, function)
    wanted = _named(analysis, scope, dict.fromkeys([*names, *residual])) if names else scope
    collected = frozenset(wanted if captures == "context" else ())
    modes = Modes(frozenset(_named(analysis, scope, residual)), collected)
    targets: dict[Helper, Path] = {}
    seams: list[Seam] = []
    if to is not None:
        target = to.resolve()
        if target == layout.source:
            raise RequestError(f"{to}: is the source itself; leave --to out to lift inside the file")
        if target.exists():
            raise RequestError(f"{to}: exists already; name a file that does not")
        targets = dict.fromkeys(wanted, target)
        seams = find_seams([root], frozenset([layout.dotted(layout.source)]))
    request = Request(
        wanted, targets, {}, {}, frozenset(seam.name for seam in seams), False, not _has_all(analysis)
    )
    composed = compose_with(analysis, layout, request, modes)
    return _report(analysis, layout, scope, composed, seams)


def run_plan(path: Path, root: Path | None) -> Report:
    """Carry out a plan in memory.

    Raises:
        PlanError, SourceError: if the plan or its source can't be used.
    """
    shown = str(path)
    plan, text = load_plan(path, shown)
    base = (root if root is not None else find_root(path.resolve().parent)).resolve()
    source_path = base / plan.source
    source = read_source(source_path, plan.source)
    analysis = Analysis(source)
    folder = base / plan.root
    layout = Layout(base, source_path, folder / plan.rest if plan.rest else source_path)
    scope = _of_function(analysis, plan.function, shown, text)
    request, seams = _request(plan, shown, text, analysis, scope, layout)
    modes = _modes(plan, shown, text, request)
    try:
        composed = compose_with(analysis, layout, request, modes)
    except TargetError as error:
        raise PlanError(f"{shown}:{line_of(text, 'move')}: {error}") from None
    return _report(analysis, layout, scope, composed, seams)


def _request(
    plan: Plan, shown: str, text: str, analysis: Analysis, scope: list[Helper], layout: Layout
) -> tuple[Request, list[Seam]]:
    by_name = {helper.name: helper for helper in scope}
    targets: dict[Helper, Path] = {}
    renames: dict[Helper, str] = {}
    docstrings: dict[Path, str] = {}
    for index, move in enumerate(plan.move):
        target = layout.root / plan.root / move.to
        if target in (layout.source, layout.rest):
            raise PlanError(f"{shown}:{line_of(text, move.to, index)}: {move.to} is the source itself")
        if move.docstring is not None:
            docstrings[target] = move.docstring
        for name in move.names:
            line = line_of(text, name, index)
            if name not in by_name:
                where = f"{plan.source}" + (f", function {plan.function}" if plan.function else "")
                raise PlanError(
                    f"{shown}:{line}: there is no helper {name} in {where}; it has {_list(by_name)}"
                )
            if by_name[name] in targets:
                raise PlanError(f"{shown}:{line}: {name} is moved twice")
            targets[by_name[name]] = target
        for name, new in move.rename.items():
            if name not in move.names:
                raise PlanError(
                    f"{shown}:{line_of(text, name, index)}: {name} is renamed but not among the names moved"
                )
            renames[by_name[name]] = new
    tests = [layout.root / folder for folder in plan.seams.tests]
    for folder, given in zip(tests, plan.seams.tests, strict=True):
        if not folder.exists():
            raise PlanError(f"{shown}:{line_of(text, given)}: no such folder: {given}")
    modules = frozenset([layout.dotted(layout.rest)])
    seams = find_seams(tests, modules)
    names = frozenset([*plan.seams.keep, *(seam.name for seam in seams)])
    star = not _has_all(analysis) and is_star_imported(layout.root, layout.dotted(layout.rest))
    return Request(list(targets), targets, renames, docstrings, names, True, star), seams


def _modes(plan: Plan, shown: str, text: str, request: Request) -> Modes:
    """The helpers of a plan's moves that are named for a rewrite."""
    by_name = {helper.name: helper for helper in request.targets}
    for index, move in enumerate(plan.move):
        for name in move.residual:
            if name not in move.names:
                line = line_of(text, "residual", index)
                raise PlanError(f"{shown}:{line}: residual names {name}, which is not among the names moved")
    return Modes(
        frozenset(by_name[name] for move in plan.move for name in move.residual),
        frozenset(by_name[name] for move in plan.move for name in move.names if move.captures == "context"),
    )


def _has_all(analysis: Analysis) -> bool:
    """Whether a module says itself what a star import gets."""
    return (analysis.tree.module, "__all__") in analysis.tree.binders


def _of_function(
    analysis: Analysis, function: str | None, plan: str | None = None, text: str = ""
) -> list[Helper]:
    """Helpers defined directly in a function (all of the file where none is named)."""
    if function is None:
        return list(analysis.helpers)
    scopes = [s for s in analysis.tree.scopes() if s.kind == "function" and s.qualname == function]
    if not scopes:
        where = f"{plan}:{line_of(text, 'function')}" if plan else analysis.source.path
        kind: type[Exception] = PlanError if plan else RequestError
        raise kind(f"{where}: there is no function {function} in {analysis.source.path}")
    return [helper for helper in analysis.helpers if helper.outer in scopes]


def _named(analysis: Analysis, scope: list[Helper], names: Iterable[str]) -> list[Helper]:
    found: list[Helper] = []
    for name in names:
        chosen = [helper for helper in scope if name in (helper.name, helper.qualname)]
        if not chosen:
            raise RequestError(
                f"{analysis.source.path}: there is no helper {name}; there are {_list(h.name for h in scope)}"
            )
        found.extend(chosen)
    return found


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _report(
    analysis: Analysis, layout: Layout, scope: list[Helper], composed: Outcome, seams: list[Seam]
) -> Report:
    helpers = []
    for helper in scope:
        refusal = composed.refused.get(helper)
        lifted = helper in composed.lifted
        target = composed.targets.get(helper, layout.rest) if lifted else None
        helpers.append(
            HelperReport(
                name=helper.name,
                qualname=helper.qualname,
                path=analysis.source.path,
                line=helper.node.lineno,
                status="refused" if refusal else "lifted" if lifted else "kept",
                refusal=refusal,
                captures=helper.captures,
                target=layout.shown(target) if target is not None else None,
                call_sites=sum(use.call is not None for use in analysis.uses(helper)),
            )
        )
    files = tuple(_change(analysis.source, layout, path, text) for path, text in composed.files.items())
    return Report(tuple(helpers), files, tuple(seams))


def _change(source: Source, layout: Layout, path: Path, text: str) -> FileChange:
    plain = path not in (layout.source, layout.rest)
    after = text.encode("utf-8") if plain else source.encode(text)
    before = path.read_bytes() if path.exists() else None
    return FileChange(path, layout.shown(path), before, after)


__all__ = ["PlanError", "Report", "RequestError", "SourceError", "TargetError", "extract_file", "run_plan"]
