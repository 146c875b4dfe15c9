"""Which captures of an outer function's helpers one frozen object can hold, and where it can be made."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import chain

from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Lifting, Need
from codemods.program.scopes import Scope, Use
from codemods.rewrites.objects.classes import (
    Kept,
    can_be_attribute,
    has_room_above,
    is_followed,
    own_statements,
)
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, first, refuse
from codemods.rewrites.rules.dynamic import seen_early


def reads_of(lifting: Lifting, helper: Helper) -> list[tuple[Need, Use]]:
    """What a helper itself reads of its outer function's variables, in the order of the text."""
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
        seen = seen_early(lifting.tree, outer)
        for helper in (h for h in helpers if h.outer is outer):
            reads = reads_of(lifting, helper)
            checks = chain(_text(lifting.analysis, reads), _alone(lifting.analysis, helper, reads))
            found = first(chain(checks, _early(seen, reads)), accepted, helper.name)
            if found is not None:
                refused[helper] = found
            elif reads and _place(lifting, outer, [*chosen, helper]) is None:
                refused[helper] = late(helper, helper.node.lineno)
            elif reads:
                chosen.append(helper)
        at = _place(lifting, outer, chosen) if chosen else None
        if at is not None:
            uses = [read for helper in chosen for read in reads_of(lifting, helper)]
            fields = tuple(dict.fromkeys(name for (name, _), _ in uses))
            names = tuple(use.node for _, use in uses)
            contexts.append(Kept(outer, tuple(chosen), fields, fields, at, names, frozen=True))
    return contexts, refused


def _early(seen: ast.Name | None, reads: Sequence[tuple[Need, Use]]) -> Refusals:
    """Nothing sees the context among the variables of its function."""
    if reads and seen is not None:
        yield refuse("dynamic-names", seen, f"{seen.id} would see the context here")


def late(helper: Helper, line: int) -> Refusal:
    """The refusal of a helper that is called where its context may not have been made."""
    return refuse(
        "capture-rebound",
        line,
        f"not all captures that {helper.name} would share are settled here",
        "lift this helper by itself (--helper), or without --captures context",
    )


def _text(analysis: Analysis, reads: Sequence[tuple[Need, Use]]) -> Refusals:
    """Every read is where the tree says, and nothing prints its text."""
    for (name, _), use in reads:
        if not can_be_attribute(analysis, use.node, in_text=use.in_text):
            yield refuse(
                "layout",
                use.node,
                f"{name} can't be read as an attribute here",
                "write the name out in the f-string, or leave out --captures context",
            )


def _alone(analysis: Analysis, helper: Helper, reads: Sequence[tuple[Need, Use]]) -> Refusals:
    """Each capture by itself is settled somewhere."""
    for name, owner in dict.fromkeys(need for need, _ in reads):
        places = _statements(analysis, owner)
        if not any(_settled(analysis, owner, statement, name) for statement in places):
            line = helper.node.lineno
            if analysis.flow(owner).knows(helper.node):
                line = analysis.flow(owner).rebound_after(helper.node, name) or line
            yield refuse(
                "capture-rebound",
                line,
                f"{name}, which {helper.name} reads, may be rebound here",
                "leave out --captures context, or give the later value another name",
            )


def _statements(analysis: Analysis, owner: Scope) -> list[ast.stmt]:
    """Statements of a function before which another may stand."""
    source = analysis.source
    return [s for s in own_statements(owner) if has_room_above(source, s) and not is_followed(source, s)]


def _settled(analysis: Analysis, owner: Scope, statement: ast.stmt, name: str) -> bool:
    flow = analysis.flow(owner)
    return flow.bound_at(statement, name) and flow.rebound_after(statement, name) is None


def _place(lifting: Lifting, outer: Scope, helpers: Sequence[Helper]) -> ast.stmt | None:
    """The first statement before which all captures of some helpers are settled."""
    needs = {need for helper in helpers for need, _ in reads_of(lifting, helper)}
    for statement in _statements(lifting.analysis, outer):
        if all(_settled(lifting.analysis, owner, statement, name) for name, owner in needs):
            return statement
    return None
