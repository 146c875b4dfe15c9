"""Rules that a helper must pass to be lifted, in the order in which they are tried; the first refusal counts.

Question: may this helper become a function of the module, and if not, under which code is it refused?
Imports program and the registry of codes; the lift, the loop, the cell and plans use it.
"""

from __future__ import annotations

from collections.abc import Callable

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals
from codemods.rewrites.rules import assumptions, calls, definition, moving

__all__ = ["CHECKS"]

Check = Callable[[Lifting, Helper], Refusals]

CHECKS: tuple[Check, ...] = (
    # Before names are compared: the scope of type parameters is no function's.
    definition.understood,
    definition.no_class_cell,
    assumptions.no_dynamic_names,
    assumptions.not_looked_at,
    calls.no_shared_writes,
    calls.bound_once,
    calls.defined_first,
    definition.plain_definition,
    definition.annotations_safe,
    calls.only_called,
    calls.captures_settled,
    moving.globals_travel,
    moving.passed_globals_settled,
    assumptions.lifetimes_unseen,
)
