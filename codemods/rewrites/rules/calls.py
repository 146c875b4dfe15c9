"""Calls must be able to carry new keyword arguments."""

from __future__ import annotations

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals, refuse


def keywords_free(lifting: Lifting, helper: Helper) -> Refusals:
    """No keyword at a call or in the signature can meet a capture's."""
    needs = lifting.needs[helper]
    if not needs:
        return
    names = {name for name, _ in needs}
    for use in lifting.analysis.uses(helper):
        if use.call is None:
            continue
        for keyword in use.call.keywords:
            if keyword.arg is None or keyword.arg in names:
                what = "**kwargs" if keyword.arg is None else f"a keyword {keyword.arg}"
                yield refuse("kwargs-at-call", use.node, f"{helper.name} is called with {what} here")
