"""Rewrites done only where asked for, before the lift; what they leave is lifted and proven as usual."""

from __future__ import annotations

from dataclasses import dataclass

from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.plans.boxes import with_boxes
from codemods.plans.compose import compose
from codemods.plans.contexts import with_contexts
from codemods.plans.modules import Layout
from codemods.plans.prepared import Outcome, outcome_of
from codemods.plans.request import Request
from codemods.plans.residuals import with_residuals


@dataclass(frozen=True, slots=True)
class Modes:
    """Helpers of which a residual is to stay, whose captures are to be collected, or boxed."""

    residual: frozenset[Helper] = frozenset()
    context: frozenset[Helper] = frozenset()
    box: frozenset[Helper] = frozenset()


def compose_with(analysis: Analysis, layout: Layout, request: Request, modes: Modes) -> Outcome:
    """Rewrite what is asked for, then lift; what can't be lifted after a rewrite is not rewritten.

    A residual reads the captures late; they are passed to its body as parameters, never collected.
    """

    def chosen(helpers: frozenset[Helper], now: Analysis) -> frozenset[Helper]:
        """The same helpers after earlier rewrites, which keep their number and order."""
        at = dict(zip(analysis.helpers, now.helpers, strict=True))
        return frozenset(at[helper] for helper in helpers)

    def plain(now: Analysis, request: Request) -> Outcome:
        return outcome_of(compose(now, layout, request))

    def residual(now: Analysis, request: Request) -> Outcome:
        if not modes.residual:
            return plain(now, request)
        return with_residuals(now, layout, request, chosen(modes.residual, now), plain)

    def collected(now: Analysis, request: Request) -> Outcome:
        takers = modes.context - modes.residual
        return (
            with_contexts(now, layout, request, chosen(takers, now), residual)
            if takers
            else residual(now, request)
        )

    if modes.box:
        return with_boxes(analysis, request, modes.box, collected)
    return collected(analysis, request)


__all__ = ["Modes", "Outcome", "compose_with"]
