"""Carry out a plan: composed files and a report."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from codemods.equal.code import NotProven, reread
from codemods.plans.chain import (
    Loaded,
    docstrings_of,
    expanded,
    files_made,
    find_targets,
    plans_before,
    seams_of,
)
from codemods.plans.lift import (
    accepted_of,
    changes_of,
    compose_with,
    helpers_of,
    listed,
    lists_exports,
    put_files,
    read_at_calls,
    rows_of,
)
from codemods.plans.loop import LoopMade, compose_loop
from codemods.plans.model import Loop, Move, Plan, PlanError
from codemods.plans.moving import move_definitions
from codemods.plans.report import (
    AcceptedAssumption,
    FileChange,
    HelperReport,
    Report,
    StayedImport,
)
from codemods.plans.request import Request
from codemods.plans.site import Layout, Overlay, Site, site_of
from codemods.plans.stars import is_star_imported
from codemods.plans.tidy import Tidy
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.repository import project_root
from codemods.program.source import Source, SourceError, Unusable, decode_source
from codemods.rewrites.refusals import Accepted
from codemods.rewrites.text.append import TargetError, defined_names
from codemods.rewrites.text.file import TextNotPreserved, with_absolute_imports


def run_plan(path: Path, root: Path | None, *, absent: frozenset[Path] = frozenset()) -> Report:
    """Carry out a plan in memory, after those that it says come before it.

    Files that are ``absent`` count as not there, whatever the tree has in their place.

    Raises:
        PlanError, SourceError: if a plan or its source can't be used.
    """
    base = root_of(path, root)
    plans = plans_before(path)
    planned = frozenset[Path]().union(*(files_made(loaded.plan, base) for loaded in plans))
    folded = sorted(planned, key=lambda made: (str(made).casefold(), str(made)))
    for first, second in pairwise(folded):
        if str(first).casefold() == str(second).casefold():
            raise PlanError(f"{path}: {first.name} and {second.name} are one file where case does not count")
    overlay = Overlay(absent, planned)
    report = _chain(plans, base, overlay)
    for change in report.files:
        if change.path in absent | overlay.sources | overlay.followers:
            continue
        if lost := _lost(change, overlay):
            what = f"{change.shown} exists already and holds {listed(sorted(lost))}"
            raise plans[-1].error(what, change.path.name)
    return replace(
        report,
        sources=frozenset([*overlay.sources, *overlay.rests.values()]),
        followers=frozenset(overlay.followers),
    )


def root_of(path: Path, root: Path | None) -> Path:
    """The folder that a plan's paths are relative to."""
    return (root if root is not None else project_root(path)).resolve()


def _lost(change: FileChange, overlay: Overlay) -> set[str]:
    """Names that a file defines, and neither the file that takes its place nor a source."""
    kept = _defined(change.after).union(*(_defined(overlay.disk.found(source)) for source in overlay.sources))
    return _defined(change.before) - kept


def _defined(data: bytes | None) -> set[str]:
    """Names that a file defines at its top level, if it is one of Python."""
    try:
        return set() if data is None else defined_names(decode_source(data, "").tree)
    except SourceError:
        return {"something that is not Python"}


def _chain(plans: Sequence[Loaded], base: Path, overlay: Overlay) -> Report:
    """Carry out a plan on what earlier plans make; the report has the files of all."""
    stayed: list[StayedImport] = []
    accepted: list[AcceptedAssumption] = []
    for loaded in plans:
        report = _carry_out(loaded, base, overlay)
        if report.refused:
            return report
        stayed += report.imports
        accepted += report.accepted
        if loaded.plan.rest is not None:
            overlay.rests[base / loaded.plan.source] = base / loaded.plan.root / loaded.plan.rest
    return replace(report, imports=tuple(stayed), accepted=tuple(accepted))


def _carry_out(loaded: Loaded, base: Path, overlay: Overlay) -> Report:
    """Carry out one plan: first what it moves, then what it lifts."""
    plan = loaded.plan
    given = base / plan.source
    source_path = overlay.rests.get(given, given)
    source = overlay.source(source_path, plan.source)
    rest = base / plan.root / plan.rest if plan.rest else source_path
    if rest.is_dir():
        raise loaded.error(f"rest: {plan.rest} is a folder; name a file", "rest")
    layout = Layout(base, source_path, rest, frozen=plan.rest is not None or source_path in overlay.made)
    overlay.sources.add(source_path)
    analysis = Analysis(source)
    try:
        accepted = Accepted.of({each.code: each.reason for each in plan.accept})
    except Unusable as error:
        raise loaded.error(error, "accept") from None
    try:
        moves = find_targets(loaded, layout)
        seams, kept = seams_of(loaded, layout)
        site = site_of(source, layout, overlay)
        moved = move_definitions(loaded, moves, analysis, site, kept, accepted)
        if moved.refused:
            return Report(moved.rows, ())
        if moved.rows:
            analysis = Analysis(overlay.source(layout.rest, layout.shown(layout.rest)))
            layout = Layout(base, layout.rest, layout.rest, frozen=layout.frozen)
        scope = helpers_of(analysis, plan.function, lambda what: loaded.error(what, "function"))
        site = site_of(analysis.source, layout, overlay)
        kept |= read_at_calls(seams, site)
        request = _request(loaded, moves, analysis, scope, site, kept, moved.names, accepted)
        tidy = Tidy(site, request.seams, moved.exported)
        composed = compose_with(analysis, request)
    except (TargetError, NotProven, TextNotPreserved) as error:
        source.compiled()
        raise loaded.error(error, "move") from None
    put_files(site, analysis.source, composed.files)
    rows = (*moved.rows, *rows_of(analysis, request, scope if request.wanted else [], composed))
    report = Report(rows, changes_of(site), tuple(seams))
    if report.refused:
        return report
    try:
        if plan.loop is not None:
            rows = (*rows, _loop_row(plan, plan.loop, source, request))
        return Report(
            rows,
            imports=tidy.tidied(source),
            files=changes_of(site),
            seams=tuple(seams),
            accepted=accepted_of(accepted, rows),
        )
    except (TargetError, NotProven, TextNotPreserved) as error:
        raise loaded.error(error, "loop") from None


def _loop_row(plan: Plan, loop: Loop, source: Source, request: Request) -> HelperReport:
    """Carry out a plan's loop on what the moves left; its row of the report."""
    layout, overlay = request.site.layout, request.site.overlay
    target = layout.root / plan.root / loop.to
    if target in (layout.source, layout.rest) or target in overlay.made.keys() - overlay.followers:
        raise TargetError(f"{loop.to} is the source or the target of a move")
    if not layout.frozen and overlay.exists(target):
        raise TargetError(f"{loop.to} exists already; name a file that does not")
    if request.star_imported and not loop.class_.startswith("_"):
        raise TargetError(f"{loop.class_} would spread by a star import of the source; begin it with _")
    assert plan.function is not None
    left = _left(source, request.site)
    line = line_before(source, left)
    composed = compose_loop(left, target, plan.function, loop, request, line)
    put_files(request.site, left, composed.files)
    row = _row_of_loop(plan.function, loop, source, composed, line)
    return row if composed.refusal else replace(row, target=layout.shown(target), call_sites=1)


def _row_of_loop(
    function: str, loop: Loop, source: Source, made: LoopMade, line: Callable[[int], int]
) -> HelperReport:
    return HelperReport(
        name=loop.class_,
        qualname=f"{function} (loop)",
        path=source.path,
        line=line(made.line),
        status="refused" if made.refusal else "lifted",
        refusal=made.refusal and made.refusal.with_lines(line),
        captures=made.fields,
    )


def line_before(source: Source, left: Source) -> Callable[[int], int]:
    """The line of ``source`` for each line of what is left of it."""

    @cache
    def blocks() -> list[tuple[int, int, int, int]]:
        pairs = difflib.SequenceMatcher(None, source.lines, left.lines)
        return [(a, b, c, d) for _, a, b, c, d in pairs.get_opcodes()]

    def line(number: int) -> int:
        if left.text == source.text:
            return number
        for start, end, first, last in blocks():
            if first <= number - 1 < last:
                return min(start + (number - 1 - first), max(start, end - 1)) + 1
        return number

    return line


def _left(source: Source, site: Site) -> Source:
    """Read the source as the moves left it."""
    layout = site.layout
    if layout.rest in site.overlay.made:
        return site.overlay.source(layout.rest, layout.shown(layout.rest))
    package = layout.source_package if layout.rest != layout.source else None
    text = with_absolute_imports(source, (), [source.tree], package).text()
    return reread(text, source.path, source)


def _request(
    loaded: Loaded,
    moves: Sequence[tuple[Move, Path]],
    analysis: Analysis,
    scope: list[Helper],
    site: Site,
    seams: frozenset[str],
    elsewhere: frozenset[str],
    accepted: Accepted,
) -> Request:
    """Make the request of a plan for the helpers of its function; ``elsewhere`` are names of no helpers."""
    plan = loaded.plan
    # One function may define a name in several branches.
    by_name = {h.name: [o for o in scope if (o.outer, o.name) == (h.outer, h.name)] for h in scope}
    targets: dict[Helper, Path] = {}
    renames: dict[Helper, str] = {}
    residual, context, box = set[Helper](), set[Helper](), set[Helper]()
    wrapped = set[Helper]()
    for index, (move, target) in enumerate(moves):
        names = expanded(move, list(by_name))
        for name in names:
            if name in elsewhere:
                continue
            if name not in by_name:
                where = f"{plan.source}" + (f", function {plan.function}" if plan.function else "")
                what = f"there is no helper {name} in {where}; it has {listed(by_name)}"
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
            if name in by_name:
                renames.update(dict.fromkeys(by_name[name], new))
        for key, given, chosen in (("wrapper", move.wrapper, residual), ("cell", move.cell, box)):
            for name in given if isinstance(given, tuple) else ():
                if name not in names or name not in by_name:
                    what = f"{key} names {name}, which is no helper among the names moved"
                    raise loaded.error(what, key, index)
                chosen.update(by_name[name])
        if move.wrapper == "auto":
            wrapped.update(h for name in names for h in by_name.get(name, ()))
        if move.captures == "context":
            context.update(h for name in names for h in by_name.get(name, ()))
    star = not lists_exports(analysis) and is_star_imported(
        site.overlay.files(site.layout.root), site.layout.root, site.layout.rest
    )
    return Request(
        site=site,
        wanted=list(targets),
        targets=targets,
        renames=renames,
        docstrings=docstrings_of(moves),
        seams=seams,
        strict=True,
        star_imported=star,
        annotations=plan.annotations,
        residual=frozenset(residual),
        context=frozenset(context),
        box=frozenset(box),
        wrapped=frozenset(wrapped),
        accepted=accepted,
    )
