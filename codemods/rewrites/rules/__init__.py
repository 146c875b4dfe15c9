"""Rules that a helper must pass to be lifted, in the order in which they are tried; the first refusal counts.

Question: may this helper become a function of the module, and if not, under which code is it refused?
Imports program and the registry of codes; the lift, the loop, the cell and plans use it.
"""

from __future__ import annotations

from collections.abc import Callable

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals
from codemods.rewrites.rules import (
    annotated,
    binding,
    calls,
    captures,
    definition,
    dynamic,
    introspection,
    layout,
    lifetimes,
    moving,
    namespace,
    values,
    writing,
)
from codemods.rewrites.rules import wrapper as residual

__all__ = ["CHECKS", "RESIDUAL_CHECKS"]

Check = Callable[[Lifting, Helper], Refusals]

CHECKS: tuple[Check, ...] = (
    # Before names are compared: the scope of type parameters is no function's.
    definition.no_type_params,
    dynamic.no_class_cell,
    dynamic.scopes_agree,
    dynamic.no_dynamic_scope,
    dynamic.not_compiled,
    introspection.not_looked_at,
    writing.no_shared_writes,
    binding.bound_once,
    binding.defined_first,
    definition.plain_definition,
    definition.no_doctest,
    annotated.annotations_safe,
    values.only_called,
    calls.keywords_free,
    captures.captures_settled,
    moving.place_for_function,
    moving.globals_travel,
    moving.passed_globals_settled,
    namespace.not_cleaned_up,
    layout.text_is_plain,
    lifetimes.lifetimes_unseen,
)

# What else is asked of a helper of which a residual stays.
RESIDUAL_CHECKS: tuple[Check, ...] = (
    residual.no_visible_frame,
    introspection.nothing_looks,
    residual.forwardable,
    residual.keeps_parameters,
    residual.code_unread,
)
