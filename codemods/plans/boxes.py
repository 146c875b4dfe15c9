"""Let functions share rebound variables through an object, and lift them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from codemods.decide.box import Box, BoxNames, find_boxes
from codemods.decide.classes import find_imports
from codemods.decide.naming import fresh_name
from codemods.decide.rules.frames import looked_at
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.plans.prepared import Explain, Found, Lift, Outcome, Prepared, lift_rewritten, prepare
from codemods.plans.targets import Request
from codemods.prove.box import prove_boxes
from codemods.rewrite.box import box_variables


def with_boxes(analysis: Analysis, request: Request, chosen: frozenset[Helper], lift: Lift) -> Outcome:
    """Box what the chosen helpers share and lift; one that can't be lifted then gets no box."""

    def find(wanted: Sequence[Helper], refused: Collection[Helper]) -> Found[Box]:
        # What functions capture changes all over the outer function.
        if seen := looked_at(analysis, chosen.intersection(wanted)):
            return Found((), seen, {})
        return Found(*find_boxes(analysis, chosen.difference(refused)), {})

    def rewrite(boxes: Sequence[Box]) -> tuple[Prepared, Explain]:
        return _rewritten(analysis, boxes), lambda helper, refusal: refusal

    return lift_rewritten(analysis, request, lift, find, rewrite)


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
    prepared = prepare(box_variables(analysis, named, imported), analysis.helpers)
    prove_boxes(analysis.source, prepared.analysis.source, named, imported)
    return prepared
