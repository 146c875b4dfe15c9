"""The claim about a loop, as the proof takes it."""

from __future__ import annotations

from collections.abc import Mapping

from codemods.equal.loop import Method
from codemods.rewrites.loop.groups import field_of
from codemods.rewrites.loop.rules import LoopDecision


def method_claim(
    decision: LoopDecision,
    module: str,
    class_name: str,
    method: str,
    groups: Mapping[str, tuple[str, ...]],
    home: str,
) -> Method:
    """Claim of a loop where it was, its new place, and what it is handed and hands back."""
    node = decision.parts.node
    return Method(
        place=(node.lineno, node.col_offset),
        at=len(decision.parts.setup),
        module=module,
        class_name=class_name,
        method=method,
        fields=decision.fields,
        passed=frozenset(decision.passed),
        home=home,
        fetched=decision.fetched,
        returned=decision.returned,
        groups={group: (field_of(group), names) for group, names in groups.items()},
    )
