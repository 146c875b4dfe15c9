"""Claims about a lift, as the proof takes them."""

from __future__ import annotations

from collections.abc import Mapping

from codemods.equal.lift import Lifted
from codemods.program.helpers import Helper
from codemods.rewrites.lift.decision import Decision
from codemods.rewrites.naming import Names


def lifted_claims(
    decision: Decision, names: Mapping[Helper, Names], modules: Mapping[Helper, str]
) -> list[Lifted]:
    """Claim of every lifted helper its new name, its parameters and where it went."""
    lifting, found = decision.lifting, []
    for helper in decision.lifted:
        callers = [c for c in decision.lifted if any(callee is helper for callee, _ in lifting.calls_in[c])]
        called = names[helper].calls
        found.append(
            Lifted(
                place=helper.place,
                definition=names[helper].definition,
                passed=tuple(name for name, _ in lifting.needs[helper]),
                names={None: called[None], **{caller.place: called[caller] for caller in callers}},
                module=modules.get(helper),
            )
        )
    return found
