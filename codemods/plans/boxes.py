"""Let functions share rebound variables through an object, and lift them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from codemods.decide.box import Box, find_boxes
from codemods.decide.classes import class_names, find_imports
from codemods.decide.rules.frames import looked_at
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.plans.prepared import Found, Lift, Outcome, Rewritten, lift_rewritten, prepare
from codemods.plans.request import Request
from codemods.prove.box import prove_boxes
from codemods.rewrite.box import box_variables


def with_boxes(analysis: Analysis, request: Request, chosen: frozenset[Helper], lift: Lift) -> Outcome:
    """Box what the chosen helpers share and lift; one that can't be lifted then gets no box."""

    def find(wanted: Sequence[Helper], refused: Collection[Helper]) -> Found[Box]:
        # What functions capture changes all over the outer function.
        if seen := looked_at(analysis, chosen.intersection(wanted)):
            return Found((), seen, {})
        return Found(*find_boxes(analysis, chosen.difference(refused)), {})

    return lift_rewritten(analysis, request, lift, find, lambda boxes: _rewritten(analysis, boxes))


def _rewritten(analysis: Analysis, boxes: Sequence[Box]) -> Rewritten:
    """The file with boxes in it, proven."""
    taken: set[str] = set()
    named = [(box, class_names(analysis, box.outer, "State", ["state", "shared"], taken)) for box in boxes]
    paths = ["dataclasses.dataclass", "typing.Any"]
    if any(set(box.variables) > set(box.given) for box in boxes):
        paths.insert(1, "dataclasses.field")
    imported = find_imports(analysis, [box.helpers[0].root.node for box in boxes], paths, taken)
    prepared = prepare(box_variables(analysis, named, imported), analysis.helpers)
    prove_boxes(analysis.source, prepared.analysis.source, named, imported)
    return Rewritten(prepared)
