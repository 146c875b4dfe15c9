"""Let functions share rebound variables through an object, and lift them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codemods.analysis.box import Box, find_boxes
from codemods.analysis.helpers import Helper
from codemods.analysis.lifting import Analysis
from codemods.analysis.refusals import refuse
from codemods.analysis.rules.frames import looked_at
from codemods.plans.prepared import Lift, Outcome, Prepared, back, located, prepare, translated
from codemods.plans.targets import Request
from codemods.transforms.box import BoxNames, box_edits, prove_boxes
from codemods.transforms.classes import find_imports
from codemods.transforms.naming import fresh_name
from codemods.transforms.proof import NotProven


def with_boxes(analysis: Analysis, request: Request, chosen: frozenset[Helper], lift: Lift) -> Outcome:
    """Box what the chosen helpers share and lift; one that can't be lifted then gets no box."""
    # What functions capture changes all over the outer function.
    refused = looked_at(analysis, chosen)
    while True:
        wanted = [helper for helper in request.wanted if helper not in refused]
        boxes, unfit = find_boxes(analysis, chosen - refused.keys())
        if unfit:
            refused.update(unfit)
            continue
        if not boxes:
            outcome = lift(analysis, replace(request, wanted=wanted))
            return replace(outcome, refused={**outcome.refused, **refused})
        members = [helper for box in boxes for helper in box.helpers]
        try:
            prepared = _rewritten(analysis, boxes)
        except NotProven as failure:
            refused.update({h: refuse("not-proven", h.node.lineno, failure.what) for h in members})
            continue
        outcome = lift(prepared.analysis, translated(request, wanted, prepared))
        failed = {h: outcome.refused[prepared.now[h]] for h in members if prepared.now[h] in outcome.refused}
        if not failed:
            return back(outcome, prepared, refused)
        refused.update({helper: located(refusal, prepared) for helper, refusal in failed.items()})


def _rewritten(analysis: Analysis, boxes: Sequence[Box]) -> Prepared:
    """The file with boxes in it, proven."""
    taken: set[str] = set()
    named = []
    for box in boxes:
        stem = box.outer.name.strip("_")
        title = "".join(part.capitalize() for part in stem.split("_"))
        variable = fresh_name(analysis, ["state", "shared", f"{stem}_state"], taken)
        named.append((box, BoxNames(fresh_name(analysis, [f"_{title}State"], taken), variable)))
    paths = ["dataclasses.dataclass", "typing.Any"]
    if any(set(box.variables) > set(box.given) for box in boxes):
        paths.insert(1, "dataclasses.field")
    imported = find_imports(analysis, [box.helpers[0].root.node for box in boxes], paths, taken)
    prepared = prepare(analysis.source, analysis.helpers, box_edits(analysis.source, named, imported))
    prove_boxes(analysis.source, prepared.analysis.source, named, imported)
    return prepared
