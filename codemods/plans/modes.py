"""Rewrites done only where asked for, before the lift; what they leave is lifted and proven as usual."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.plans.compose import compose
from codemods.plans.objects import with_boxes, with_contexts
from codemods.plans.request import Lift, Outcome, Request
from codemods.plans.residuals import with_residuals

Rewrite = Callable[[Analysis, Request, frozenset[Helper], Lift], Outcome]


@dataclass(frozen=True, slots=True)
class Modes:
    """Helpers of which a residual is to stay, whose captures are to be collected, or boxed."""

    residual: frozenset[Helper] = frozenset()
    context: frozenset[Helper] = frozenset()
    box: frozenset[Helper] = frozenset()


def compose_with(analysis: Analysis, request: Request, modes: Modes) -> Outcome:
    """Rewrite what is asked for, then lift; what can't be lifted after a rewrite is not rewritten.

    A residual reads the captures late; they are passed to its body as parameters, never collected.
    """

    lift: Lift = compose
    # The last one first: each is given what comes after it.
    asked = (with_residuals, modes.residual), (with_contexts, modes.context - modes.residual)
    for rewrite, helpers in (*asked, (with_boxes, modes.box)):
        if helpers:
            lift = _after(analysis, rewrite, helpers, lift)
    return lift(analysis, request)


def _after(analysis: Analysis, rewrite: Rewrite, helpers: Collection[Helper], lift: Lift) -> Lift:
    """A rewrite of some helpers of a file, and then what follows."""

    def rewritten(now: Analysis, request: Request) -> Outcome:
        # Earlier rewrites keep the number and the order of helpers.
        at = dict(zip(analysis.helpers, now.helpers, strict=True))
        return rewrite(now, request, frozenset(at[helper] for helper in helpers), lift)

    return rewritten


__all__ = ["Modes", "Outcome", "compose_with"]
