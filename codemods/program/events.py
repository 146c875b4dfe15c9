"""The building blocks of a flow graph: events, joins, branches and jumps."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from codemods.program.nodes import Visitor
from codemods.program.scopes import Scope, ScopeTree, mangle

Jump = Literal["return", "break", "continue"]


class NotUnderstood(Exception):
    """A construct without a known flow of control; carries the node."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__(type(node).__name__)
        self.node = node


@dataclass(slots=True)
class Event:
    """A node of the graph: at most one name bound or unbound, then on to the successors."""

    bind: str | None = None
    unbind: str | None = None
    line: int = 0
    successors: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    exit: int
    head: int


@dataclass(slots=True)
class Finally:
    entry: int
    jumps: set[Jump] = field(default_factory=set)


class Builder(Visitor):
    """Adds events one after another; ``current`` is the last, or None where control can't be."""

    def __init__(self, tree: ScopeTree, frame: Scope, names: frozenset[str]) -> None:
        """``names`` are followed."""
        super().__init__()
        self.tree = tree
        self.frame = frame
        self.names = names
        self.scope = frame
        self.events: list[Event] = [Event()]
        self.entered: set[int] = set()
        self.points: dict[ast.AST, list[int]] = {}
        self.current: int | None = 0
        self.raising: int | None = None
        self.contexts: list[Loop | Finally] = []
        self.end = self._join()

    @cached_property
    def before(self) -> list[list[int]]:
        """The events from which each comes next, once all are there."""
        found: list[list[int]] = [[] for _ in self.events]
        for index, event in enumerate(self.events):
            for successor in event.successors:
                found[successor].append(index)
        return found

    # Building blocks

    def _join(self) -> int:
        self.events.append(Event())
        return len(self.events) - 1

    def _link(self, start: int | None, end: int) -> None:
        if start is not None:
            self.events[start].successors.append(end)
            self.entered.add(end)

    def _add(self, event: Event) -> int:
        self.events.append(event)
        index = len(self.events) - 1
        self._link(self.current, index)
        if self.raising is not None:
            self._link(index, self.raising)
        self.current = index
        return index

    def _mark(self, node: ast.AST) -> None:
        """Make the state at this place available under the node."""
        self.points.setdefault(node, []).append(self._add(Event(line=getattr(node, "lineno", 0))))

    def _followed(self, name: str) -> str | None:
        """The frame's variable that a name means here, if it is followed."""
        name = mangle(name, self.scope.private)
        return name if name in self.names and self.tree.owner(self.scope, name) is self.frame else None

    def _bind(self, name: str, line: int) -> None:
        if (variable := self._followed(name)) is not None:
            self._add(Event(bind=variable, line=line))

    def _unbind(self, name: str, line: int) -> None:
        if (variable := self._followed(name)) is not None:
            self._add(Event(unbind=variable, line=line))

    def _branch(self, parts: Iterable[Callable[[], None]]) -> None:
        """Run exactly one of the parts."""
        start, after = self.current, self._join()
        for part in parts:
            self.current = start
            part()
            self._link(self.current, after)
        self.current = after if after in self.entered else None

    def _jump(self, kind: Jump) -> None:
        """Leave to the function's end or a loop, through the finally blocks on the way."""
        for context in reversed(self.contexts):
            if isinstance(context, Finally):
                context.jumps.add(kind)
                self._link(self.current, context.entry)
                break
            if kind != "return":
                self._link(self.current, context.exit if kind == "break" else context.head)
                break
        else:
            self._link(self.current, self.end)
        self.current = None
