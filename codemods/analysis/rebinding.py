"""Which bindings of a variable may replace or remove a value that it already has."""

from __future__ import annotations

import ast

from codemods.analysis.graph import NotUnderstood
from codemods.analysis.lifting import Analysis
from codemods.analysis.scopes import Binder, Scope


def rebinding_lines(analysis: Analysis, owner: Scope, name: str) -> tuple[int, ...]:
    """Lines of bindings and unbindings that some path reaches after another one, or themselves (a loop).

    Where the flow of control is not understood: all but the first.
    """
    binders = analysis.tree.binders.get((owner, name), [])
    later = tuple(sorted({binder.line for binder in binders if binder.scope.frame() is not owner.frame()}))
    if len(binders) == 1 and not _in_loop(owner, binders[0]):
        return later
    try:
        graph = analysis.flow(owner).graph
    except NotUnderstood:
        return tuple(sorted({binder.line for binder in binders[1:]}))
    events = graph.events
    waiting = [index for index, event in enumerate(events) if event.bind == name]
    seen: set[int] = set()
    found = set(later)
    while waiting:
        for successor in events[waiting.pop()].successors:
            if successor not in seen:
                seen.add(successor)
                waiting.append(successor)
                if name in (events[successor].bind, events[successor].unbind):
                    found.add(events[successor].line)
    return tuple(sorted(found))


def _in_loop(owner: Scope, binder: Binder) -> bool:
    """Whether a binding stands in the lines of a loop of the function; a handler unbinds its own name."""
    if isinstance(binder.node, ast.ExceptHandler):
        return True
    return any(
        node.lineno <= binder.line <= (node.end_lineno or node.lineno)
        for node in ast.walk(owner.node)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While))
    )
