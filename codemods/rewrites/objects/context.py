"""Which captures of an outer function's helpers one frozen object can hold, and where it can be made."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting, Need
from codemods.program.scopes import Scope, Use
from codemods.rewrites.objects.classes import Kept, own_statements
from codemods.rewrites.refusals import Accepted, Refusal, first, refuse
from codemods.rewrites.rules.assumptions import no_dynamic_names
from codemods.rewrites.text.layout import indentation


def reads_of(lifting: Lifting, helper: Helper) -> list[tuple[Need, Use]]:
    """List a helper's own reads of its outer function's variables, in the order of the text."""
    found = [
        ((name, owner), use)
        for name, owner, use in helper.reads
        if owner is helper.outer
        and (owner, name) not in lifting.called_anew
        and lifting.enclosing(use.scope) is helper
    ]
    return sorted(found, key=lambda read: read[1].position)


def collect(
    lifting: Lifting, helpers: Sequence[Helper], accepted: Accepted | None = None
) -> tuple[list[Kept], dict[Helper, Refusal]]:
    """Contexts for helpers that can be lifted, one an outer function, and why some can't take part."""
    contexts: list[Kept] = []
    refused: dict[Helper, Refusal] = {}
    for outer in dict.fromkeys(helper.outer for helper in helpers):
        chosen: list[Helper] = []
        at: ast.stmt | None = None
        for helper in (h for h in helpers if h.outer is outer and reads_of(lifting, h)):
            place = _place(lifting, outer, [*chosen, helper])
            seen = first(no_dynamic_names(lifting, helper, early=False), accepted, helper.name)
            if place is None or seen is not None:
                refused[helper] = seen or late(helper, helper.node.lineno)
            else:
                chosen, at = [*chosen, helper], place
        if at is not None:
            uses = [read for helper in chosen for read in reads_of(lifting, helper)]
            fields = tuple(dict.fromkeys(name for (name, _), _ in uses))
            names = tuple(use.node for _, use in uses)
            contexts.append(Kept(outer, tuple(chosen), fields, fields, at, names, frozen=True))
    return contexts, refused


def late(helper: Helper, line: int) -> Refusal:
    """The refusal of a helper that is called where its context may not have been made."""
    return refuse(
        "capture-rebound",
        line,
        f"not all captures that {helper.name} would share are settled here",
        "lift this helper by itself (--helper), or without --captures context",
    )


def _place(lifting: Lifting, outer: Scope, helpers: Sequence[Helper]) -> ast.stmt | None:
    """The first statement of a line of its own before which all captures of some helpers are settled."""
    source = lifting.analysis.source
    needs = {need for helper in helpers for need, _ in reads_of(lifting, helper)}
    for statement in own_statements(outer):
        alone = len(indentation(source, statement.lineno)) == statement.col_offset
        if alone and all(_settled(lifting, owner, statement, name) for name, owner in needs):
            return statement
    return None


def _settled(lifting: Lifting, owner: Scope, statement: ast.stmt, name: str) -> bool:
    flow = lifting.analysis.flow(owner)
    return flow.bound_at(statement, name) and flow.rebound_after(statement, name) is None
