"""What a program states about a function's variables: their types, and where a value may be replaced."""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass, field

from codemods.facts.events import NotUnderstood
from codemods.facts.lifting import Analysis
from codemods.facts.scopes import Binder, Scope
from codemods.facts.source import own_statements


@dataclass(slots=True)
class _Frame:
    """A function's outermost loops, as first and last lines in order, and its annotated names."""

    loops: list[tuple[int, int]] = field(default_factory=list)
    annotations: dict[str, ast.expr] = field(default_factory=dict)


class Variables:
    """Looks up variables of one file's functions; each function is walked once."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._frames: dict[Scope, _Frame] = {}
        self._rebound: dict[tuple[Scope, str], tuple[int, ...]] = {}

    def binders(self, owner: Scope, name: str) -> list[Binder]:
        """Everything that binds or unbinds a variable, in the order of the text."""
        return sorted(self.analysis.tree.binders.get((owner, name), []), key=lambda binder: binder.line)

    def annotation(self, owner: Scope, name: str) -> str | None:
        """What the program states as a variable's type: at the parameter, or at one of its assignments."""
        for binder in self.binders(owner, name):
            if isinstance(binder.node, ast.arg) and binder.node.annotation is not None:
                return _collected(owner.node, binder.node, ast.unparse(binder.node.annotation))
        found = self._frame(owner).annotations.get(name)
        return None if found is None else ast.unparse(found)

    def rebound(self, owner: Scope, name: str) -> tuple[int, ...]:
        """Lines of bindings and unbindings that some path reaches after another one, or themselves (a loop).

        Where the flow of control is not understood: all but the first.
        """
        key = (owner, name)
        if key not in self._rebound:
            self._rebound[key] = tuple(sorted(self._find_rebound(owner, name)))
        return self._rebound[key]

    def _find_rebound(self, owner: Scope, name: str) -> set[int]:
        binders = self.binders(owner, name)
        found = {binder.line for binder in binders if binder.scope.frame() is not owner.frame()}
        if len(binders) == 1 and not self._may_repeat(owner, binders[0]):
            return found
        try:
            events = self.analysis.flow(owner).graph.events
        except NotUnderstood:
            return {binder.line for binder in binders[1:]}
        waiting = [index for index, event in enumerate(events) if event.bind == name]
        seen: set[int] = set()
        while waiting:
            for successor in events[waiting.pop()].successors:
                if successor not in seen:
                    seen.add(successor)
                    waiting.append(successor)
                    if name in (events[successor].bind, events[successor].unbind):
                        found.add(events[successor].line)
        return found

    def _may_repeat(self, owner: Scope, binder: Binder) -> bool:
        """Whether a binding stands in the lines of a loop; a handler unbinds its own name."""
        if isinstance(binder.node, ast.ExceptHandler):
            return True
        loops = self._frame(owner).loops
        at = bisect_right(loops, binder.line, key=lambda loop: loop[0]) - 1
        return at >= 0 and binder.line <= loops[at][1]

    def _frame(self, owner: Scope) -> _Frame:
        if owner not in self._frames:
            frame = self._frames[owner] = _Frame()
            for node in own_statements(owner.node):
                if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                    if not frame.loops or frame.loops[-1][1] < node.lineno:
                        frame.loops.append((node.lineno, node.end_lineno or node.lineno))
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    frame.annotations.setdefault(node.target.id, node.annotation)
        return self._frames[owner]


def _collected(function: ast.AST, parameter: ast.arg, annotation: str) -> str:
    """The type of a parameter's variable; a starred one's annotation is that of its items."""
    arguments = getattr(function, "args", None)
    if isinstance(arguments, ast.arguments):
        if parameter is arguments.vararg:
            return f"tuple[{annotation}, ...]"
        if parameter is arguments.kwarg:
            return f"dict[str, {annotation}]"
    return annotation
