"""Rewrites that come before the lift: helpers share rebound variables through an object, read captures from a
frozen one, or leave residuals where they are values.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from codemods.equal.code import NotProven
from codemods.equal.objects import Known, prove_objects
from codemods.equal.wrapper import prove_wrappers
from codemods.plans.met import names_met
from codemods.plans.prepared import Found, Prepared, Rewritten, prepare
from codemods.plans.request import Outcome, Request, annotations_of
from codemods.plans.site import Layout
from codemods.program.helpers import Helper, entry_reads
from codemods.program.lifting import Analysis, Lifting
from codemods.program.source import parse_source
from codemods.rewrites.lift.decision import decide
from codemods.rewrites.naming import FileNames, Met, find_imports
from codemods.rewrites.objects.cell import find_boxes
from codemods.rewrites.objects.classes import Kept, class_names, kept_claims
from codemods.rewrites.objects.context import collect, late
from codemods.rewrites.objects.transform import Annotate, keep_in_objects
from codemods.rewrites.refusals import Refusal, Refusals, refuse, refused_by
from codemods.rewrites.rules.assumptions import nothing_looks
from codemods.rewrites.rules.wrapper import RESIDUAL_CHECKS
from codemods.rewrites.wrapper.transform import split_helpers


def boxes(analysis: Analysis, request: Request, wanted: Sequence[Helper]) -> Found:
    """Box what helpers share; one that can't be lifted then gets no box."""
    # What functions capture changes all over the outer function.
    chosen = request.box.intersection(wanted)
    if seen := refused_by(chosen, partial(nothing_looks, analysis), request.accepted):
        return Found(unfit=seen)
    found, unfit = find_boxes(analysis, chosen, request.accepted)
    return _kept(
        analysis,
        found,
        unfit,
        {},
        "State",
        ["state", "shared"],
        names_met(request.site),
        lambda kept, name: None,
    )


def contexts(analysis: Analysis, request: Request, wanted: Sequence[Helper]) -> Found:
    """Collect helpers' captures; one for which that can't be done is refused."""
    # Functions in them would capture the object instead of what it holds.
    if seen := refused_by(
        request.collected.intersection(wanted), partial(nothing_looks, analysis), request.accepted
    ):
        return Found(unfit=seen)
    plain = decide(analysis, wanted, accepted=request.accepted)
    takers = sorted(request.collected.intersection(plain.lifted), key=lambda h: h.node.lineno)
    found, unfit = collect(plain.lifting, takers, request.accepted)
    fields = {name for context in found for name in context.variables}
    known = annotations_of(analysis, request)

    def annotate(kept: Kept, name: str) -> ast.expr | None:
        return known.here(known.of(name, kept.outer), fields)

    # An object that holds another helper uses it as a value; that is not why it is refused.
    return _kept(
        analysis, found, unfit, plain.refused, "Context", ["context"], names_met(request.site), annotate
    )


def _kept(
    analysis: Analysis,
    objects: Sequence[Kept],
    unfit: Mapping[Helper, Refusal],
    before: Mapping[Helper, Refusal],
    kind: str,
    stems: list[str],
    met: Met,
    annotate: Annotate,
) -> Found:
    """Objects to be made of a kind of class."""
    helpers = [helper for kept in objects for helper in kept.helpers]
    rewrite = partial(_rewritten, analysis, objects, kind, stems, met, annotate) if objects else None
    return Found(helpers, rewrite, unfit, before)


def _rewritten(
    analysis: Analysis,
    objects: Sequence[Kept],
    kind: str,
    stems: list[str],
    met: Met,
    annotate: Annotate,
) -> Rewritten:
    """The file with objects in it, proven."""
    taken: set[str] = set()
    named = [(kept, class_names(analysis, kept.outer, kind, stems, taken)) for kept in objects]
    later = ["dataclasses.field"] if any(kept.later for kept in objects) else []
    paths = ["dataclasses.dataclass", *later, "typing.Any"]
    imported = Known(*find_imports(analysis, [kept.root for kept in objects], paths, taken, met))
    prepared = prepare(keep_in_objects(analysis, named, imported, annotate), analysis.helpers)
    made = prepared.analysis.tree
    prove_objects(analysis.tree, made, kept_claims(named), imported)

    def explain(helper: Helper, refusal: Refusal) -> Refusal:
        of_context = any(refusal.reason.startswith(f"{n.variable} ") for kept, n in named if kept.frozen)
        return late(helper, refusal.line) if of_context else refusal

    return Rewritten(prepared, explain)


def residuals(analysis: Analysis, request: Request, wanted: Sequence[Helper]) -> Found:
    """Split the chosen helpers; one that can't be lifted then is not split."""
    chosen = request.residual.intersection(request.wanted)
    split = [helper for helper in wanted if helper in chosen]
    unfit = refused_by(split, lambda helper: _refusals(analysis, helper, chosen), request.accepted)
    return Found(split, partial(_split, analysis, request.site.layout, split) if split else None, unfit)


def _refusals(analysis: Analysis, helper: Helper, chosen: Collection[Helper]) -> Refusals:
    for other in chosen:
        if other is not helper and helper.scope.inside(other.scope):
            reason = f"{helper.name} is inside {other.name}, of which a wrapper stays too"
            yield refuse("not-understood", helper.node, reason)
    attempt = Lifting(analysis, {helper}, {})
    for check in RESIDUAL_CHECKS:
        yield from check(attempt, helper)


def _split(analysis: Analysis, layout: Layout, split: Collection[Helper]) -> Rewritten:
    """The file with residuals in it, proven."""
    source, chosen = analysis.source, FileNames(analysis)
    names: dict[Helper, str] = {}
    for helper in sorted(split, key=lambda h: h.node.lineno):
        names[helper] = next(name for _ in range(3) if (name := chosen.choose(helper, None)) != helper.name)
    prepared = prepare(split_helpers(source, names), analysis.helpers)
    prove_wrappers(source, prepared.analysis.source, {h.place: name for h, name in names.items()})
    for helper in names:
        prepared.now[helper].entry = entry_reads(source, helper)
    check = partial(_check, prepared=prepared, layout=layout, split=split)
    return Rewritten(prepared, check=check, split=split)


def _check(outcome: Outcome, prepared: Prepared, layout: Layout, split: Collection[Helper]) -> None:
    """Ask the compiler what the residuals in the new texts capture: just what is handed over.

    One that stands in a lifted function of another file hands over globals of the source as well, with
    which that function is passed them.

    Raises:
        NotProven: if it is anything else.
    """
    made = {path: Analysis(parse_source(text, str(path))) for path, text in outcome.files.items()}
    module = {name for owner, name in prepared.analysis.tree.binders if owner.kind == "module"}
    for helper in split:
        handed = outcome.lifted[prepared.now[helper]]
        if not any(
            h.name == helper.name
            and handed <= h.scope.free
            and h.scope.free - handed <= (module if path != layout.rest else set())
            for path, after in made.items()
            for h in after.helpers
        ):
            raise NotProven(
                f"{helper.name}: its wrapper captures something else than it hands over", helper.place
            )
