"""Rewrites done only where asked for, before the lift; what they leave is lifted and proven as usual."""

from __future__ import annotations

from dataclasses import dataclass

from codemods.analysis.helpers import Helper
from codemods.analysis.lifting import Analysis
from codemods.plans.compose import compose
from codemods.plans.contexts import with_contexts
from codemods.plans.modules import Layout
from codemods.plans.prepared import Outcome, outcome_of
from codemods.plans.residuals import with_residuals
from codemods.plans.targets import Request


@dataclass(frozen=True, slots=True)
class Modes:
    """Helpers of which a residual is to stay, and helpers whose captures are to be collected."""

    residual: frozenset[Helper] = frozenset()
    context: frozenset[Helper] = frozenset()


def compose_with(analysis: Analysis, layout: Layout, request: Request, modes: Modes) -> Outcome:
    """Rewrite what is asked for, then lift; what can't be lifted after a rewrite is not rewritten.

    A residual reads the captures late; they are passed to its body as parameters, never collected.
    """

    def plainly(analysis: Analysis, request: Request) -> Outcome:
        return outcome_of(compose(analysis, layout, request))

    def residually(now: Analysis, request: Request) -> Outcome:
        if not modes.residual:
            return plainly(now, request)
        split = modes.residual
        if now is not analysis:
            # Contexts came first: the same helpers, in the same order.
            at = dict(zip(analysis.helpers, now.helpers, strict=True))
            split = frozenset(at[helper] for helper in split)
        return with_residuals(now, layout, request, split, plainly)

    collected = modes.context - modes.residual
    if not collected:
        return residually(analysis, request)
    return with_contexts(analysis, request, collected, residually)


__all__ = ["Modes", "Outcome", "compose_with"]
