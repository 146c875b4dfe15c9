"""Lift helpers of one file as a command line asks for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from codemods.equal.code import NotProven
from codemods.plans.compose import compose
from codemods.plans.report import (
    AcceptedAssumption,
    FileChange,
    HelperReport,
    Overruled,
    Report,
    StayedImport,
)
from codemods.plans.request import Lift, Outcome, Request
from codemods.plans.site import Layout, Overlay, Site, site_of
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.patches import ANY_NAME, Seam, find_seams
from codemods.program.repository import module_name, project_root
from codemods.program.source import Source, Unusable
from codemods.rewrites.refusals import Accepted, all_rules
from codemods.values import Style


class RequestError(Unusable):
    """Something that was asked for does not exist; the message is one line."""


def extract_source(
    analysis: Analysis,
    function: str | None,
    names: Collection[str],
    to: Path | None = None,
    residual: Collection[str] = (),
    captures: str = "params",
    box: Collection[str] = (),
    annotations: Style = "inferred",
    accept: Mapping[str, str] = MappingProxyType({}),
    wrapper: str | None = None,
) -> Report:
    """Lift helpers of one file, next to the outer function or to another file.

    ``residual`` names helpers of which a closure is to stay that forwards to the lifted function;
    with ``captures`` "context" the captures are collected in a frozen dataclass;
    ``box`` names helpers whose rebound captures an object is to hold;
    ``annotations`` says which annotations the captures get;
    ``accept`` has the assumptions that the user accepts, each with the reason;
    with ``wrapper`` "auto" those that are used as values get wrappers.

    Raises:
        SourceError, RequestError, TargetError: if the input can't be used.
    """
    accepted = Accepted.of(accept)
    source = analysis.source
    path = Path(source.path)
    root = project_root(path)
    layout = Layout(root, path.resolve(), path.resolve())
    scope = helpers_of(analysis, function, lambda what: RequestError(f"{source.path}: {what}"))
    wanted = _named(analysis, scope, dict.fromkeys([*names, *residual, *box])) if names else scope
    targets: dict[Helper, Path] = {}
    seams: list[Seam] = []
    site = site_of(source, layout, Overlay())
    if to is not None:
        target = to.resolve()
        if target == layout.source:
            raise RequestError(f"{to}: is the source itself; leave --to out to lift inside the file")
        targets = dict.fromkeys(wanted, target)
        seams = rebound_in([root], layout)
    request = Request(
        site=site,
        wanted=wanted,
        targets=targets,
        seams=read_at_calls(seams, site),
        strict=False,
        star_imported=not lists_exports(analysis),
        annotations=annotations,
        residual=frozenset(_named(analysis, scope, residual)),
        context=frozenset(wanted if captures == "context" else ()),
        box=frozenset(_named(analysis, scope, box)),
        accepted=accepted,
        wrapped=frozenset(wanted if wrapper == "auto" else ()),
    )
    try:
        composed = compose_with(analysis, request)
    except NotProven:
        source.compiled()
        raise
    put_files(site, source, composed.files)
    stayed: tuple[StayedImport, ...] = ()
    if to is not None:
        from codemods.plans.tidy import Tidy

        stayed = Tidy(site, request.seams).tidied(source)
    rows = rows_of(analysis, request, scope, composed)
    return Report(
        rows,
        changes_of(site),
        tuple(seams),
        frozenset([layout.rest]),
        imports=stayed,
        accepted=accepted_of(accepted, rows),
    )


def compose_with(analysis: Analysis, request: Request) -> Outcome:
    """Rewrite what is asked for, then lift; what can't be lifted after a rewrite is not rewritten.

    Helpers of the request's ``wrapped`` get wrappers where that is what they lack: those that are refused
    because they are used as values.
    """
    if request.wrapped:
        plain = compose_with(analysis, replace(request, wrapped=frozenset()))
        values = {helper for helper, refusal in plain.refused.items() if refusal.code == "value-use"}
        if not (chosen := request.wrapped & values):
            return plain
        request = replace(request, wrapped=frozenset(), residual=request.residual | chosen)
    lift: Lift = compose
    if not (request.residual or request.collected or request.box):
        return lift(analysis, request)
    from codemods.plans.prepared import lift_rewritten
    from codemods.plans.rewrites import boxes, contexts, residuals

    # The last one first: each is given what comes after it.
    for asked, find in ((request.residual, residuals), (request.collected, contexts), (request.box, boxes)):
        if asked:
            lift = partial(lift_rewritten, lift=lift, find=find)
    return lift(analysis, request)


def rebound_in(folders: list[Path], layout: Layout) -> list[Seam]:
    """Places in some folders where names of what is left of the source are replaced.

    A replaced attribute of one of its names (``PPOAgent.load``) is none: the object stays the same one.
    """
    found = find_seams(folders, module_name(layout.rest, layout.root), layout.root)
    return [seam for seam in found if seam.rebinds]


def read_at_calls(seams: list[Seam], site: Site) -> frozenset[str]:
    """Find names that may mean something else at each call; all, if the module may be loaded again."""
    names = frozenset(seam.name for seam in seams)
    return names | {ANY_NAME} if site.surroundings.reloaded else names


def lists_exports(analysis: Analysis) -> bool:
    """Tell whether a module says itself what a star import gets."""
    return (analysis.tree.module, "__all__") in analysis.tree.binders


def helpers_of(analysis: Analysis, function: str | None, fail: Callable[[str], Unusable]) -> list[Helper]:
    """Helpers defined directly in a function (all of the file where none is named)."""
    if function is None:
        return list(analysis.helpers)
    scopes = analysis.tree.functions(function)
    if not scopes:
        raise fail(f"there is no function {function} in {analysis.source.path}")
    return [helper for helper in analysis.helpers if helper.outer in scopes]


def _named(analysis: Analysis, scope: list[Helper], names: Iterable[str]) -> list[Helper]:
    found: list[Helper] = []
    for name in names:
        chosen = [helper for helper in scope if name in (helper.name, helper.qualname)]
        if not chosen:
            known = listed(helper.name for helper in scope)
            raise RequestError(f"{analysis.source.path}: there is no helper {name}; there are {known}")
        found.extend(chosen)
    return found


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def rows_of(
    analysis: Analysis, request: Request, scope: list[Helper], composed: Outcome
) -> tuple[HelperReport, ...]:
    """Make the rows of the helpers in question."""
    helpers, layout = [], request.site.layout
    for helper in scope:
        refusal = composed.refused.get(helper)
        lifted = helper in composed.lifted
        target = request.targets.get(helper, layout.rest) if lifted else None
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
    return tuple(helpers)


def accepted_of(accepted: Accepted, rows: Sequence[HelperReport]) -> tuple[AcceptedAssumption, ...]:
    """The assumptions that a user accepts, with what each let through."""
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


def put_files(site: Site, source: Source, files: Mapping[Path, str]) -> None:
    """Make what is left of a source, and targets."""
    for path, text in files.items():
        start = source if path in (site.layout.source, site.layout.rest) else None
        site.overlay.put(path, start, text)


def changes_of(site: Site) -> tuple[FileChange, ...]:
    """All files made so far."""
    return tuple(
        FileChange(path, site.layout.shown(path), path.read_bytes() if path.exists() else None, data)
        for path, data in site.overlay.made.items()
    )
