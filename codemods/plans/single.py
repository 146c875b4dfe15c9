"""Lift helpers of one file, as a command line asks for it; and what plans do in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from codemods.equal.code import NotProven
from codemods.plans.compose import lift
from codemods.plans.report import AcceptedAssumption, HelperReport, Overruled, Report
from codemods.plans.site import Layout, Outcome, Overlay, Request, Site, site_of
from codemods.program.lifting import Analysis, Helper
from codemods.program.nodes import ANY_NAME
from codemods.program.repository import module_name, project_root
from codemods.program.source import Source, Unusable
from codemods.rewrites.refusals import Accepted, all_rules

if TYPE_CHECKING:
    from codemods.program.patches import Seam
    from codemods.rewrites.leftovers import KeptImport


class RequestError(Unusable):
    """Something that was asked for does not exist; the message is one line."""


def extract_source(
    analysis: Analysis,
    function: str | None,
    names: Collection[str],
    to: Path | None = None,
    wrapper: Collection[str] = (),
    cell: Collection[str] = (),
    accept: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Lift helpers of one file, next to the outer function or to another file.

    ``wrapper`` names helpers of which a closure is to stay that forwards to the lifted function; with "auto"
    among them those get one that need it; ``cell`` names helpers whose rebound captures an object
    is to hold; ``accept`` has the assumptions that the user accepts, each with the reason.

    Raises:
        SourceError, RequestError, TargetError: if the input can't be used.
    """
    accepted = Accepted.of(accept)
    source, path = analysis.source, Path(analysis.source.path).resolve()
    layout = Layout(project_root(path), path, path)
    scope = helpers_of(analysis, function, lambda what: RequestError(f"{source.path}: {what}"))

    def named(chosen: Iterable[str]) -> list[Helper]:
        found: list[Helper] = []
        for name in chosen:
            here = [helper for helper in scope if name in (helper.name, helper.qualname)]
            if not here:
                known = ", ".join(helper.name for helper in scope) or "none"
                raise RequestError(f"{source.path}: there is no helper {name}; there are {known}")
            found.extend(here)
        return found

    closures = [name for name in wrapper if name != "auto"]
    wanted = named(dict.fromkeys([*names, *closures, *cell])) if names else scope
    site = site_of(source, layout, Overlay())
    seams = [] if to is None else rebound_in([layout.root], site, analysis)
    request = Request(
        site=site,
        wanted=wanted,
        targets={} if to is None else dict.fromkeys(wanted, to.resolve()),
        seams=frozenset(seam.name for seam in seams),
        private=True,
        wrapper=frozenset(named(closures)),
        cell=frozenset(named(cell)),
        accepted=accepted,
    )
    try:
        outcome = lift(analysis, request, wanted if "auto" in wrapper else ())
    except NotProven:
        source.compiled()
        raise
    put_files(site, source, outcome.files)
    rows = rows_of(analysis, request, scope, outcome)
    stayed: tuple[KeptImport, ...] = ()
    if to is not None:
        from codemods.plans.tidy import tidied

        stayed = tidied(site, request.seams, analysis.tree)
    return Report(
        rows,
        seams=tuple(seams),
        sources=frozenset([layout.rest]),
        imports=stayed,
        files=site.overlay.changes(layout),
        accepted=accepted_of(accepted, rows),
    )


def rebound_in(folders: list[Path], site: Site, analysis: Analysis) -> list[Seam]:
    """Find places in some folders where names of what is left of the source are replaced.

    A replaced attribute of one of its names (``PPOAgent.load``) is none: the object stays the same one. Nor
    is a name that the source does not have: ``"train.txt"``, handed over, names a file.
    """
    from codemods.program.patches import find_seams

    layout = site.layout
    found = find_seams(folders, module_name(layout.rest, layout.root), layout.root, site.overlay.files)
    known = {*analysis.tree.names, ANY_NAME}
    return [seam for seam in found if seam.rebinds and seam.name in known]


def helpers_of(analysis: Analysis, function: str | None, fail: Callable[[str], Unusable]) -> list[Helper]:
    """Find helpers defined directly in a function (all of the file where none is named)."""
    if function is None:
        return list(analysis.helpers)
    scopes = analysis.tree.functions(function)
    if not scopes:
        raise fail(f"there is no function {function} in {analysis.source.path}")
    return [helper for helper in analysis.helpers if helper.outer in scopes]


def rows_of(
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


def accepted_of(accepted: Accepted, rows: Sequence[HelperReport]) -> tuple[AcceptedAssumption, ...]:
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


def put_files(site: Site, source: Source, files: Mapping[Path, str]) -> None:
    """Make what is left of a source, and targets."""
    for path, text in files.items():
        start = source if path in (site.layout.source, site.layout.rest) else None
        site.overlay.put(path, start, text)
