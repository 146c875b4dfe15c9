"""A helper that is more than a callee: a value with identity, attributes and a life of its own."""

from __future__ import annotations

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals, refuse


def only_called(lifting: Lifting, helper: Helper) -> Refusals:
    """Every use of the name is the callee of a call."""
    for use in lifting.analysis.uses(helper):
        if use.attribute is not None:
            yield refuse(
                "value-use",
                use.node,
                f"attribute {use.attribute} of {helper.name} is used here",
                "keep the state in a variable of the outer function",
            )
        if use.call is None:
            yield refuse("value-use", use.node, f"{helper.name} is used as a value here")
