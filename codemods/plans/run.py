"""Carry out a plan, or a command line, in memory: composed files and a report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from codemods.equal.code import NotProven, reread
from codemods.plans.compose import lift
from codemods.plans.loop import compose_loop
from codemods.plans.model import Loaded, Loop, Move, Plan, PlanError, plans_before
from codemods.plans.moving import move_definitions
from codemods.plans.report import AcceptedAssumption, HelperReport, Overruled, Report, StayedImport
from codemods.plans.request import Outcome, Request
from codemods.plans.site import Layout, Overlay, Site, line_before, site_of
from codemods.plans.tidy import Tidy
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.patches import ANY_NAME, Seam, find_seams
from codemods.program.repository import module_name, project_root
from codemods.program.source import Source, SourceError, Unusable, decode_source
from codemods.rewrites.refusals import Accepted, all_rules
from codemods.rewrites.text.append import TargetError, defined_names
from codemods.rewrites.text.file import TextNotPreserved, with_absolute_imports


class RequestError(Unusable):
    """Something that was asked for does not exist; the message is one line."""


def extract_source(
    analysis: Analysis,
    function: str | None,
    names: Collection[str],
    to: Path | None = None,
    wrapper: Collection[str] = (),
    captures: str = "params",
    cell: Collection[str] = (),
    accept: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Lift helpers of one file, next to the outer function or to another file.

    ``wrapper`` names helpers of which a closure is to stay that forwards to the lifted function; with "auto"
    among them those get one that are used as values; with ``captures`` "context" the captures are collected
    in a frozen dataclass; ``cell`` names helpers whose rebound captures an object is to hold; ``accept`` has
    the assumptions that the user accepts, each with the reason.

    Raises:
        SourceError, RequestError, TargetError: if the input can't be used.
    """
    accepted = Accepted.of(accept)
    source, path = analysis.source, Path(analysis.source.path).resolve()
    layout = Layout(project_root(path), path, path)
    scope = _helpers_of(analysis, function, lambda what: RequestError(f"{source.path}: {what}"))

    def named(chosen: Iterable[str]) -> list[Helper]:
        found: list[Helper] = []
        for name in chosen:
            here = [helper for helper in scope if name in (helper.name, helper.qualname)]
            if not here:
                known = _listed(helper.name for helper in scope)
                raise RequestError(f"{source.path}: there is no helper {name}; there are {known}")
            found.extend(here)
        return found

    closures = [name for name in wrapper if name != "auto"]
    wanted = named(dict.fromkeys([*names, *closures, *cell])) if names else scope
    site = site_of(source, layout, Overlay())
    seams: list[Seam] = []
    if to is not None:
        if to.resolve() == path:
            raise RequestError(f"{to}: is the source itself; leave --to out to lift inside the file")
        seams = _rebound_in([layout.root], layout)
    request = Request(
        site=site,
        wanted=wanted,
        targets={} if to is None else dict.fromkeys(wanted, to.resolve()),
        seams=_read_at_calls(seams, site),
        star_imported=not _lists_exports(analysis),
        wrapper=frozenset(named(closures)),
        context=frozenset(wanted if captures == "context" else ()),
        cell=frozenset(named(cell)),
        accepted=accepted,
    )
    try:
        outcome = lift(analysis, request, wanted if "auto" in wrapper else ())
    except NotProven:
        source.compiled()
        raise
    _put(site, source, outcome.files)
    rows = _rows(analysis, request, scope, outcome)
    return Report(
        rows,
        seams=tuple(seams),
        sources=frozenset([layout.rest]),
        imports=() if to is None else Tidy(site, request.seams).tidied(source),
        files=site.overlay.changes(layout),
        accepted=_accepted_of(accepted, rows),
    )


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
    imports: list[StayedImport] = []
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
        if change.path not in overlay.absent | sources | overlay.followers:
            kept = _defined(change.after).union(*(_defined(overlay.on_disk(source)) for source in sources))
            if lost := _defined(change.before) - kept:
                what = f"{change.shown} exists already and holds {_listed(sorted(lost))}"
                raise plans[-1].error(what, change.path.name)
    followers = frozenset(overlay.followers)
    return replace(report, sources=frozenset([*sources, *overlay.rests.values()]), followers=followers)


def root_of(path: Path, root: Path | None) -> Path:
    """Find the folder that a plan's paths are relative to."""
    return (root if root is not None else project_root(path)).resolve()


def _not_there(plans: Sequence[Loaded], base: Path) -> frozenset[Path]:
    """List the files that plans make; none of them may take its source apart in place."""
    made: set[Path] = set()
    for path, plan, _ in plans:
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
        return set() if data is None else defined_names(decode_source(data, "").tree)
    except SourceError:
        return {"something that is not Python"}


def _carry_out(loaded: Loaded, base: Path, overlay: Overlay, sources: set[Path]) -> Report:
    """Carry out one plan: first what it moves, then what it lifts, then the loop."""
    plan = loaded.plan
    given = base / plan.source
    source_path = overlay.rests.get(given, given)
    source = overlay.source(source_path, plan.source)
    rest = base / plan.root / plan.rest if plan.rest else source_path
    if rest.is_dir():
        raise loaded.error(f"rest: {plan.rest} is a folder; name a file", "rest")
    layout = Layout(base, source_path, rest, frozen=plan.rest is not None or source_path in overlay.made)
    sources.add(source_path)
    analysis = Analysis(source)
    key = "accept"
    try:
        accepted = Accepted.of({each.code: each.reason for each in plan.accept})
        moves = [(move, base / plan.root / move.to) for move in plan.move]
        for index, (move, target) in enumerate(moves):
            if target in (layout.source, layout.rest):
                raise loaded.error(f"{move.to} is the source itself", move.to, index)
        seams, kept = _seams_of(loaded, layout)
        key = "move"
        moved = move_definitions(loaded, moves, analysis, site_of(source, layout, overlay), kept, accepted)
        if moved.rows:
            report = Report(moved.rows, ())
            if report.refused:
                return report
            analysis = Analysis(overlay.source(layout.rest, layout.shown(layout.rest)))
            layout = Layout(base, layout.rest, layout.rest, frozen=layout.frozen)
        scope = _helpers_of(analysis, plan.function, lambda what: loaded.error(what, "function"))
        site = site_of(analysis.source, layout, overlay)
        names = {row.name for row in moved.rows}
        request = _request(
            loaded, moves, analysis, scope, site, kept | _read_at_calls(seams, site), names, accepted
        )
        auto = {name for move in plan.move if move.wrapper == "auto" for name in _expanded(move, scope)}
        tidy = Tidy(site, request.seams, moved.exported)
        outcome = lift(analysis, request, [helper for helper in request.wanted if helper.name in auto])
        _put(site, analysis.source, outcome.files)
        rows = (*moved.rows, *_rows(analysis, request, scope if request.wanted else [], outcome))
        report = Report(rows, overlay.changes(layout), tuple(seams))
        if report.refused:
            return report
        key = "loop"
        if plan.loop is not None:
            rows = (*rows, _loop_row(plan, plan.loop, source, request))
        return replace(
            report,
            helpers=rows,
            imports=tidy.tidied(source),
            files=overlay.changes(layout),
            accepted=_accepted_of(accepted, rows),
        )
    except (PlanError, SourceError):
        raise
    except (Unusable, NotProven, TextNotPreserved) as error:
        source.compiled()
        raise loaded.error(error, key) from None


def _loop_row(plan: Plan, loop: Loop, source: Source, request: Request) -> HelperReport:
    """Carry out a plan's loop on what the moves left; make its row of the report."""
    layout, overlay = request.site.layout, request.site.overlay
    target = layout.root / plan.root / loop.to
    if target in (layout.source, layout.rest) or target in overlay.made.keys() - overlay.followers:
        raise TargetError(f"{loop.to} is the source or the target of a move")
    if request.star_imported and not loop.class_.startswith("_"):
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
    _put(request.site, left, made.files)
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
    loaded: Loaded,
    moves: Sequence[tuple[Move, Path]],
    analysis: Analysis,
    scope: list[Helper],
    site: Site,
    seams: frozenset[str],
    elsewhere: Collection[str],
    accepted: Accepted,
) -> Request:
    """Make the request of a plan for the helpers of its function; ``elsewhere`` are names of no helpers."""
    plan = loaded.plan
    # One function may define a name in several branches.
    by_name = {h.name: [o for o in scope if (o.outer, o.name) == (h.outer, h.name)] for h in scope}
    targets: dict[Helper, Path] = {}
    renames: dict[Helper, str] = {}
    chosen: dict[str, set[Helper]] = {"wrapper": set(), "cell": set(), "context": set()}
    for index, (move, target) in enumerate(moves):
        names = _expanded(move, scope)
        for name in names:
            if name in elsewhere:
                continue
            if name not in by_name:
                where = f"{plan.source}" + (f", function {plan.function}" if plan.function else "")
                what = f"there is no helper {name} in {where}; it has {_listed(by_name)}"
                if name in _defined(site.overlay.found(target)):
                    what = f"{name} is not in {where}, but in {move.to} already; was this plan carried out?"
                    if plan.rest is None:
                        what += " With `rest` it leaves its source as it is, and can be checked afterwards"
                raise loaded.error(what, name, index)
            if by_name[name][0] in targets:
                raise loaded.error(f"{name} is moved twice", name, index)
            targets.update(dict.fromkeys(by_name[name], target))
        for name, new in move.rename.items():
            if name not in names:
                raise loaded.error(f"{name} is renamed but not among the names moved", name, index)
            if new in [move.rename.get(other, other) for other in names if other != name]:
                raise loaded.error(f"two definitions would be called {new}", name, index)
            renames.update(dict.fromkeys(by_name.get(name, ()), new))
        given = {"wrapper": () if move.wrapper == "auto" else move.wrapper, "cell": move.cell}
        for key, named in given.items():
            for name in named:
                if name not in names or name not in by_name:
                    what = f"{key} names {name}, which is no helper among the names moved"
                    raise loaded.error(what, key, index)
                chosen[key].update(by_name[name])
        if move.captures == "context":
            chosen["context"].update(h for name in names for h in by_name.get(name, ()))
    return Request(
        site=site,
        wanted=list(targets),
        targets=targets,
        renames=renames,
        docstrings={target: move.docstring for move, target in moves if move.docstring is not None},
        seams=seams,
        star_imported=not _lists_exports(analysis) and site.star_imported,
        wrapper=frozenset(chosen["wrapper"]),
        context=frozenset(chosen["context"]),
        cell=frozenset(chosen["cell"]),
        accepted=accepted,
    )


def _expanded(move: Move, helpers: Sequence[Helper]) -> list[str]:
    """The names of a move, with ``*`` replaced by all helpers that are not excepted."""
    every = list(dict.fromkeys(helper.name for helper in helpers if helper.name not in move.except_))
    return [name for given in move.names for name in (every if given == "*" else [given])]


def _seams_of(loaded: Loaded, layout: Layout) -> tuple[list[Seam], frozenset[str]]:
    """Find seams in the plan's tests, and the names of these and those to be kept."""
    asked = loaded.plan.seams
    for folder in asked.tests:
        if not (layout.root / folder).exists():
            raise loaded.error(f"no such folder: {folder}", folder)
    seams = _rebound_in([*(layout.root / folder for folder in asked.tests), layout.root], layout)
    return seams, frozenset([*asked.keep, *(seam.name for seam in seams)])


def _rebound_in(folders: list[Path], layout: Layout) -> list[Seam]:
    """Find places in some folders where names of what is left of the source are replaced.

    A replaced attribute of one of its names (``PPOAgent.load``) is none: the object stays the same one.
    """
    found = find_seams(folders, module_name(layout.rest, layout.root), layout.root)
    return [seam for seam in found if seam.rebinds]


def _read_at_calls(seams: list[Seam], site: Site) -> frozenset[str]:
    """Find names that may mean something else at each call; all, if the module may be loaded again."""
    names = frozenset(seam.name for seam in seams)
    return names | {ANY_NAME} if site.surroundings.reloaded else names


def _lists_exports(analysis: Analysis) -> bool:
    """Tell whether a module says itself what a star import gets."""
    return (analysis.tree.module, "__all__") in analysis.tree.binders


def _helpers_of(analysis: Analysis, function: str | None, fail: Callable[[str], Unusable]) -> list[Helper]:
    """Find helpers defined directly in a function (all of the file where none is named)."""
    if function is None:
        return list(analysis.helpers)
    scopes = analysis.tree.functions(function)
    if not scopes:
        raise fail(f"there is no function {function} in {analysis.source.path}")
    return [helper for helper in analysis.helpers if helper.outer in scopes]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _rows(
    analysis: Analysis, request: Request, scope: Sequence[Helper], outcome: Outcome
) -> tuple[HelperReport, ...]:
    """Make the rows of the helpers in question."""
    rows, layout = [], request.site.layout
    for helper in scope:
        refusal, lifted = outcome.refused.get(helper), helper in outcome.lifted
        rows.append(
            HelperReport(
                name=helper.name,
                qualname=helper.qualname,
                path=analysis.source.path,
                line=helper.node.lineno,
                status="refused" if refusal else "lifted" if lifted else "kept",
                refusal=refusal,
                captures=helper.captures,
                target=layout.shown(request.targets.get(helper, layout.rest)) if lifted else None,
                call_sites=sum(use.call is not None for use in analysis.uses(helper)),
            )
        )
    return tuple(rows)


def _accepted_of(accepted: Accepted, rows: Sequence[HelperReport]) -> tuple[AcceptedAssumption, ...]:
    """List the assumptions that a user accepts, with what each let through."""
    refused = {row.name for row in rows if row.refusal is not None}
    return tuple(
        AcceptedAssumption(
            code,
            all_rules()[code].summary,
            reason,
            tuple(
                Overruled(name, refusal.line, refusal.reason)
                for (of, name), refusal in accepted.overruled.items()
                if of == code and name not in refused
            ),
        )
        for code, reason in accepted.reasons.items()
    )


def _put(site: Site, source: Source, files: Mapping[Path, str]) -> None:
    """Make what is left of a source, and targets."""
    for path, text in files.items():
        start = source if path in (site.layout.source, site.layout.rest) else None
        site.overlay.put(path, start, text)
