"""Leave residuals of helpers that are values, and lift their bodies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from codemods.decide.naming import FileNames
from codemods.decide.refusals import Refusals, refuse, refused_by
from codemods.decide.rules import RESIDUAL_CHECKS
from codemods.facts.entry import entry_reads
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis, Lifting
from codemods.facts.source import parse_source
from codemods.plans.prepared import Found, Prepared, Rewritten, lift_rewritten, prepare
from codemods.plans.request import Lift, Outcome, Request
from codemods.plans.site import Layout
from codemods.prove.code import NotProven
from codemods.prove.residual import prove_split
from codemods.rewrite.residual import split_helpers


@dataclass(frozen=True, slots=True)
class _Together:
    """Helpers that are split in one rewrite."""

    helpers: tuple[Helper, ...]


def with_residuals(analysis: Analysis, request: Request, lift: Lift) -> Outcome:
    """Split the chosen helpers and lift; one that can't be lifted then is not split."""
    chosen = request.residual.intersection(request.wanted)

    def find(wanted: Sequence[Helper], refused: Collection[Helper]) -> Found[_Together]:
        split = tuple(helper for helper in wanted if helper in chosen)
        unfit = refused_by(split, lambda helper: _refusals(analysis, helper, chosen))
        return Found([_Together(split)] if split else [], unfit, {})

    def rewrite(together: Sequence[_Together]) -> Rewritten:
        split = together[0].helpers
        prepared = _split(analysis, split)
        return Rewritten(
            prepared, check=lambda outcome: _check(outcome, prepared, request.layout, split), split=split
        )

    return lift_rewritten(analysis, request, lift, find, rewrite)


def _refusals(analysis: Analysis, helper: Helper, chosen: Collection[Helper]) -> Refusals:
    for other in chosen:
        if other is not helper and helper.scope.inside(other.scope):
            reason = f"{helper.name} is inside {other.name}, of which a residual stays too"
            yield refuse("not-understood", helper.node, reason)
    attempt = Lifting(analysis, {helper}, {})
    for check in RESIDUAL_CHECKS:
        yield from check(attempt, helper)


def _split(analysis: Analysis, split: Collection[Helper]) -> Prepared:
    source, chosen = analysis.source, FileNames(analysis)
    names: dict[Helper, str] = {}
    for helper in sorted(split, key=lambda h: h.node.lineno):
        names[helper] = next(name for _ in range(3) if (name := chosen.choose(helper, None)) != helper.name)
    prepared = prepare(split_helpers(source, names), analysis.helpers)
    prove_split(source, prepared.analysis.source, names)
    for helper in names:
        prepared.now[helper].entry = entry_reads(source, helper)
    return prepared


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
            raise NotProven(f"{helper.name}: its residual captures something else than it hands over", helper)
