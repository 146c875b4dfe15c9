"""The rules that a helper must pass to be lifted, in the order in which they are tried.

Every module here has a ``CHECKS`` tuple of functions that yield the refusals of a helper in an attempt,
beside the codes that they use. The first one counts; nothing is asked after it.
"""

from __future__ import annotations

from collections.abc import Callable

from codemods.decide.refusals import Refusals
from codemods.decide.rules import (
    annotated,
    attribution,
    binding,
    calls,
    captures,
    definition,
    dynamic,
    frames,
    layout,
    lifetime,
    moving,
    namespace,
    residual,
    values,
    writing,
)
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Lifting

Check = Callable[[Lifting, Helper], Refusals]

CHECKS: tuple[Check, ...] = (
    # Before names are compared: the scope of type parameters is no function's.
    definition.no_type_params,
    *dynamic.CHECKS,
    *frames.CHECKS,
    *writing.CHECKS,
    *binding.CHECKS,
    *definition.CHECKS,
    *annotated.CHECKS,
    *values.CHECKS,
    *calls.CHECKS,
    *captures.CHECKS,
    *moving.CHECKS,
    *attribution.CHECKS,
    *lifetime.CHECKS,
    *namespace.CHECKS,
    *layout.CHECKS,
)

# What else is asked of a helper of which a residual stays.
RESIDUAL_CHECKS: tuple[Check, ...] = residual.CHECKS
