"""Rewrites done only where asked for, before the lift; what they leave is lifted and proven as usual."""

from __future__ import annotations

from functools import partial

from codemods.facts.lifting import Analysis
from codemods.plans.compose import compose
from codemods.plans.objects import with_boxes, with_contexts
from codemods.plans.request import Lift, Outcome, Request
from codemods.plans.residuals import with_residuals


def compose_with(analysis: Analysis, request: Request) -> Outcome:
    """Rewrite what is asked for, then lift; what can't be lifted after a rewrite is not rewritten."""
    lift: Lift = compose
    # The last one first: each is given what comes after it.
    if request.residual:
        lift = partial(with_residuals, lift=lift)
    if request.collected:
        lift = partial(with_contexts, lift=lift)
    if request.box:
        lift = partial(with_boxes, lift=lift)
    return lift(analysis, request)
