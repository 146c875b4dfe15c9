"""Let helpers share rebound variables through an object, or read captures from a frozen one; then lift."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from codemods.decide.box import find_boxes
from codemods.decide.classes import Kept, class_names, find_imports
from codemods.decide.context import collect, late
from codemods.decide.decision import decide
from codemods.decide.refusals import Refusal
from codemods.decide.rules.frames import looked_at
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.plans.prepared import Found, Rewritten, lift_rewritten, prepare
from codemods.plans.request import Lift, Outcome, Request, annotations_of
from codemods.prove.objects import prove_objects
from codemods.rewrite.objects import Annotate, keep_in_objects


def with_boxes(analysis: Analysis, request: Request, lift: Lift) -> Outcome:
    """Box what helpers share and lift; one that can't be lifted then gets no box."""

    def find(wanted: Sequence[Helper], refused: Collection[Helper]) -> Found[Kept]:
        # What functions capture changes all over the outer function.
        if seen := looked_at(analysis, request.box.intersection(wanted)):
            return Found((), seen, {})
        return Found(*find_boxes(analysis, request.box.difference(refused)), {})

    def rewrite(boxes: Sequence[Kept]) -> Rewritten:
        return _rewritten(analysis, boxes, "State", ["state", "shared"], lambda kept, name: None)

    return lift_rewritten(analysis, request, lift, find, rewrite)


def with_contexts(analysis: Analysis, request: Request, lift: Lift) -> Outcome:
    """Collect helpers' captures and lift; one for which that can't be done is refused."""

    def find(wanted: Sequence[Helper], refused: Collection[Helper]) -> Found[Kept]:
        # Functions in them would capture the object instead of what it holds.
        if seen := looked_at(analysis, request.collected.intersection(wanted)):
            return Found((), seen, {})
        plain = decide(analysis, wanted)
        takers = sorted(request.collected.intersection(plain.lifted), key=lambda h: h.node.lineno)
        contexts, unfit = collect(plain.lifting, takers)
        # An object that holds another helper uses it as a value; that is not why it is refused.
        return Found(contexts, unfit, plain.refused)

    def rewrite(contexts: Sequence[Kept]) -> Rewritten:
        known = annotations_of(analysis, request)
        fields = {name for context in contexts for name in context.variables}

        def annotate(kept: Kept, name: str) -> ast.expr | None:
            return known.here(known.of(name, kept.outer, kept.at), fields)

        return _rewritten(analysis, contexts, "Context", ["context"], annotate)

    return lift_rewritten(analysis, request, lift, find, rewrite)


def _rewritten(
    analysis: Analysis, objects: Sequence[Kept], kind: str, stems: list[str], annotate: Annotate
) -> Rewritten:
    """The file with objects in it, proven."""
    taken: set[str] = set()
    named = [(kept, class_names(analysis, kept.outer, kind, stems, taken)) for kept in objects]
    later = ["dataclasses.field"] if any(kept.later for kept in objects) else []
    paths = ["dataclasses.dataclass", *later, "typing.Any"]
    imported = find_imports(analysis, [kept.root for kept in objects], paths, taken)
    prepared = prepare(keep_in_objects(analysis, named, imported, annotate), analysis.helpers)
    prove_objects(analysis.source, prepared.analysis.source, named, imported)

    def explain(helper: Helper, refusal: Refusal) -> Refusal:
        of_context = any(refusal.reason.startswith(f"{n.variable} ") for kept, n in named if kept.frozen)
        return late(helper, refusal.line) if of_context else refusal

    return Rewritten(prepared, explain)
