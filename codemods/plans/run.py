"""Carry out a plan in memory: composed files and a report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from codemods.equal.code import NotProven, reread
from codemods.plans.compose import lift
from codemods.plans.model import Loaded, Loop, Move, Plan, PlanError, plans_before
from codemods.plans.report import AcceptedAssumption, HelperReport, Report
from codemods.plans.single import (
    accepted_of,
    helpers_of,
    put_files,
    rebound_in,
    rows_of,
)
from codemods.plans.site import Layout, Overlay, Request, Site, line_before, site_of
from codemods.plans.tidy import tidied
from codemods.program.lifting import Analysis, Helper
from codemods.program.patches import Seam
from codemods.program.repository import project_root
from codemods.program.source import Source, SourceError, Unusable, decode_source
from codemods.rewrites.leftovers import KeptImport
from codemods.rewrites.move.definitions import defined_by
from codemods.rewrites.refusals import Accepted
from codemods.rewrites.text.append import TargetError
from codemods.rewrites.text.file import TextNotPreserved, with_absolute_imports


def run_plan(path: Path, root: Path | None, *, afresh: bool = False) -> Report:
    """Carry out a plan in memory, after those that it says come before it.

    With ``afresh``, the files that they make count as not there, whatever the tree has in their place.

    Raises:
        PlanError, SourceError: if a plan or its source can't be used; PlanError too for a source that is not
            frozen, which the plan has taken apart already.
    """
    base = root_of(path, root)
    plans = plans_before(path)
    planned = frozenset[Path]().union(*(loaded.plan.files(base) for loaded in plans))
    overlay = Overlay(_not_there(plans, base) if afresh else frozenset(), planned)
    sources: set[Path] = set()
    imports: list[KeptImport] = []
    accepted: list[AcceptedAssumption] = []
    for loaded in plans:
        report = _carry_out(loaded, base, overlay, sources)
        if report.refused:
            break
        imports += report.imports
        accepted += report.accepted
        if loaded.plan.rest is not None:
            overlay.rests[base / loaded.plan.source] = base / loaded.plan.root / loaded.plan.rest
    else:
        report = replace(report, imports=tuple(imports), accepted=tuple(accepted))
    for change in report.files:
        if change.before is not None and change.path not in overlay.absent | sources | overlay.followers:
            kept = _defined(change.after).union(*(_defined(overlay.on_disk(source)) for source in sources))
            if lost := _defined(change.before) - kept:
                raise PlanError(f"{path}: {change.shown} exists already and holds {', '.join(sorted(lost))}")
    followers = frozenset(overlay.followers)
    return replace(report, sources=frozenset([*sources, *overlay.rests.values()]), followers=followers)


def root_of(path: Path, root: Path | None) -> Path:
    """Find the folder that a plan's paths are relative to."""
    return (root if root is not None else project_root(path)).resolve()


def _not_there(plans: Sequence[Loaded], base: Path) -> frozenset[Path]:
    """List the files that plans make; none of them may take its source apart in place."""
    made: set[Path] = set()
    for path, plan in plans:
        source = base / plan.source
        if plan.rest is None and source not in made and source.exists():
            raise PlanError(
                f"{path}: takes {plan.source} apart in place, so what was there before is gone; "
                "keep the source and name where the rest goes (rest)"
            )
        made |= plan.files(base)
    return frozenset(made)


def _defined(data: bytes | None) -> set[str]:
    """Find names that a file defines at its top level, if it is one of Python."""
    try:
        return set() if data is None else {*filter(None, map(defined_by, decode_source(data, "").tree.body))}
    except SourceError:
        return {"something that is not Python"}


def _carry_out(loaded: Loaded, base: Path, overlay: Overlay, sources: set[Path]) -> Report:
    """Carry out one plan: first what it moves, then what it lifts, then the loop."""
    plan = loaded.plan
    given = base / plan.source
    source_path = overlay.rests.get(given, given)
    source = overlay.source(source_path, plan.source)
    rest = base / plan.root / plan.rest if plan.rest else source_path
    layout = Layout(base, source_path, rest, frozen=plan.rest is not None or source_path in overlay.made)
    sources.add(source_path)
    analysis = Analysis(source)
    before = analysis.tree
    try:
        accepted = Accepted.of({each.code: each.reason for each in plan.accept})
        moves = [(move, base / plan.root / move.to) for move in plan.move]
        site = site_of(source, layout, overlay)
        seams, kept = _seams_of(plan, site, analysis)
        own = {helper.name for helper in analysis.helpers if helper.outer.qualname == plan.function}
        moved, exported = tuple[HelperReport, ...](), frozenset[str]()
        if any(name not in own and name != "*" for move in plan.move for name in move.names):
            # Few plans move definitions.
            from codemods.plans.moving import move_definitions

            moved, exported = move_definitions(plan, moves, analysis, site, kept, accepted)
        if moved:
            report = Report(moved, ())
            if report.refused:
                return report
            analysis = Analysis(overlay.source(layout.rest, layout.shown(layout.rest)))
            layout = Layout(base, layout.rest, layout.rest, frozen=layout.frozen)
            site = site_of(analysis.source, layout, overlay)
        scope = helpers_of(analysis, plan.function, PlanError)
        names = {row.name for row in moved}
        request = _request(plan, moves, scope, site, kept.union(seam.name for seam in seams), names, accepted)
        auto = {name for move in plan.move if move.wrapper == "auto" for name in _expanded(move, scope)}
        outcome = lift(analysis, request, [helper for helper in request.wanted if helper.name in auto])
        put_files(site, analysis.source, outcome.files)
        rows = (*moved, *rows_of(analysis, request, scope if request.wanted else [], outcome))
        report = Report(rows, overlay.changes(layout), tuple(seams))
        if report.refused:
            return report
        if plan.loop is not None:
            rows = (*rows, _loop_row(plan, plan.loop, source, request))
        return replace(
            report,
            helpers=rows,
            imports=tidied(site, request.seams, before, exported),
            files=overlay.changes(layout),
            accepted=accepted_of(accepted, rows),
        )
    except SourceError:
        raise
    except (Unusable, NotProven, TextNotPreserved) as error:
        source.compiled()
        raise PlanError(f"{loaded.path}: {error}") from None


def _loop_row(plan: Plan, loop: Loop, source: Source, request: Request) -> HelperReport:
    """Carry out a plan's loop on what the moves left; make its row of the report."""
    from codemods.plans.loop import compose_loop

    layout, overlay = request.site.layout, request.site.overlay
    target = layout.root / plan.root / loop.to
    if request.private and not loop.class_.startswith("_"):
        raise TargetError(f"{loop.class_} would spread by a star import of the source; begin it with _")
    assert plan.function is not None
    if layout.rest in overlay.made:
        left = overlay.source(layout.rest, layout.shown(layout.rest))
    else:
        package = layout.source_package if layout.rest != layout.source else None
        text = with_absolute_imports(source, (), [source.tree], package).text()
        left = reread(text, source.path, source)
    line = line_before(source, left)
    made = compose_loop(left, target, plan.function, loop, request, line)
    put_files(request.site, left, made.files)
    return HelperReport(
        name=loop.class_,
        qualname=f"{plan.function} (loop)",
        path=source.path,
        line=line(made.line),
        status="refused" if made.refusal else "lifted",
        refusal=made.refusal and made.refusal.with_lines(line),
        captures=made.fields,
        target=None if made.refusal else layout.shown(target),
        call_sites=0 if made.refusal else 1,
    )


def _request(
    plan: Plan,
    moves: Sequence[tuple[Move, Path]],
    scope: list[Helper],
    site: Site,
    seams: frozenset[str],
    elsewhere: Collection[str],
    accepted: Accepted,
) -> Request:
    """Make the request of a plan for the helpers of its function; ``elsewhere`` are names of no helpers."""
    # One function may define a name in several branches.
    by_name = {h.name: [o for o in scope if (o.outer, o.name) == (h.outer, h.name)] for h in scope}
    targets: dict[Helper, Path] = {}
    renames: dict[Helper, str] = {}
    chosen: dict[str, set[Helper]] = {"rename": set(), "wrapper": set(), "cell": set()}
    for move, target in moves:
        names = _expanded(move, scope)
        for name in names:
            if name in elsewhere:
                continue
            if name not in by_name:
                where = f"{plan.source}" + (f", function {plan.function}" if plan.function else "")
                done = "; was this plan carried out?" if site.overlay.exists(target) else ""
                raise PlanError(
                    f"there is no helper {name} in {where}; it has {', '.join(by_name) or 'none'}{done}"
                )
            targets.update(dict.fromkeys(by_name[name], target))
        wrapper = () if move.wrapper == "auto" else move.wrapper
        for key, named in (("rename", move.rename), ("wrapper", wrapper), ("cell", move.cell)):
            for name in named:
                if name not in names or (name not in by_name and key != "rename"):
                    raise PlanError(f"{key} names {name}, which is no helper among the names moved")
                chosen[key].update(by_name.get(name, ()))
        renames |= {helper: new for name, new in move.rename.items() for helper in by_name.get(name, ())}
    return Request(
        site=site,
        wanted=list(targets),
        targets=targets,
        renames=renames,
        docstrings={target: move.docstring for move, target in moves if move.docstring is not None},
        seams=seams,
        private=site.surroundings.star_imported,
        wrapper=frozenset(chosen["wrapper"]),
        cell=frozenset(chosen["cell"]),
        accepted=accepted,
    )


def _expanded(move: Move, helpers: Sequence[Helper]) -> list[str]:
    """The names of a move, with ``*`` replaced by all helpers."""
    every = list(dict.fromkeys(helper.name for helper in helpers))
    return [name for given in move.names for name in (every if given == "*" else [given])]


def _seams_of(plan: Plan, site: Site, analysis: Analysis) -> tuple[list[Seam], frozenset[str]]:
    """Find seams in the plan's tests, and the names of these and those to be kept."""
    asked, layout = plan.seams, site.layout
    for folder in asked.tests:
        if not (layout.root / folder).exists():
            raise PlanError(f"no such folder: {folder}")
    seams = rebound_in([*(layout.root / folder for folder in asked.tests), layout.root], site, analysis)
    return seams, frozenset([*asked.keep, *(seam.name for seam in seams)])
