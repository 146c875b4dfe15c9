"""Variables bound at a place, rebound later, or read: fixed points over a graph."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.program.graph import Graph, NotUnderstood
from codemods.program.scopes import mangle


def backward(before: Sequence[Sequence[int]], own: list[int], stays: Sequence[int]) -> list[int]:
    """Join what events have of their ``own`` with what comes to them from later ones of what ``stays`` of
    it, as bit masks.
    """
    found = list(own)
    work = [index for index, mask in enumerate(found) if mask]
    while work:
        index = work.pop()
        for predecessor in before[index]:
            reached = found[predecessor] | (found[index] & stays[predecessor])
            if reached != found[predecessor]:
                found[predecessor] = reached
                work.append(predecessor)
    return found


class Flow:
    """Answers about the names of one frame, as bit masks over its graph.

    A name is *bound at* a place if it is on every path to it. A name is *rebound after* a place if some path
    from it leads to a binding or unbinding.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._bit = {name: 1 << index for index, name in enumerate(sorted(graph.names))}
        self._bound = self._forward()
        # Of names that an event, or one after it, may bind or unbind; those of places do neither.
        own = [self._bit.get(event.bind or event.unbind or "", 0) for event in graph.events]
        self._later = backward(graph.before, own, [-1] * len(own))

    def _forward(self) -> list[int]:
        """Mask of surely bound names before every event."""
        events = self.graph.events
        everything = (1 << len(self._bit)) - 1
        state = [everything] * len(events)
        state[0] = 0
        seen = [False] * len(events)
        work = [0]
        while work:
            index = work.pop()
            seen[index] = True
            event, mask = events[index], state[index]
            if event.bind is not None:
                mask |= self._bit[event.bind]
            elif event.unbind is not None:
                mask &= ~self._bit[event.unbind]
            for successor in event.successors:
                merged = state[successor] & mask
                if merged != state[successor] or not seen[successor]:
                    state[successor] = merged
                    work.append(successor)
        return state

    def knows(self, node: ast.AST) -> bool:
        """Tell whether the node is a place in this frame."""
        return node in self.graph.points

    def _points(self, node: ast.AST) -> list[int]:
        if node not in self.graph.points:
            raise NotUnderstood(node)
        return self.graph.points[node]

    def bound_at(self, node: ast.AST, name: str) -> bool:
        """Tell whether the name is bound whenever control is at the node."""
        bit = self._bit[name]
        return all(self._bound[index] & bit for index in self._points(node))

    def unbinds(self, name: str) -> bool:
        """Tell whether the name is unbound anywhere in the frame."""
        return any(event.unbind == name for event in self.graph.events)

    def bound_at_end(self, name: str) -> bool:
        """Tell whether the name is bound whenever the frame ends normally."""
        return bool(self._bound[self.graph.end] & self._bit[name])

    def rebound_after(self, node: ast.AST, name: str) -> int | None:
        """The line of a binding or unbinding of the name that may run after the node, or None."""
        bit = self._bit[name]
        later = (index for index in self._points(node) if self._later[index] & bit)
        return next((self._find(index, name) for index in later), None)

    def _find(self, start: int, name: str) -> int:
        """Line of the nearest event of the name after a place."""
        events, seen, queue = self.graph.events, {start}, [start]
        for index in queue:
            for successor in events[index].successors:
                event = events[successor]
                if name in (event.bind, event.unbind):
                    return event.line
                if successor not in seen:
                    seen.add(successor)
                    queue.append(successor)
        raise AssertionError("a later binding that no path reaches")


class Live:
    """Which names may be read after a place before they are bound again."""

    def __init__(self, graph: Graph, private: str | None) -> None:
        """``private`` is the class whose names are mangled in the frame."""
        self.graph = graph
        reads = [node for node in graph.points if isinstance(node, ast.Name)]
        names = dict.fromkeys(mangle(node.id, private) for node in reads)
        self._bits = {name: 1 << number for number, name in enumerate(names)}
        live = [0] * len(graph.events)
        for node in reads:
            for index in graph.points[node]:
                live[index] |= self._bits[mangle(node.id, private)]
        # At every event, the names whose values may be read from there on before they are bound again.
        stays = [~self._bits.get(event.bind or "", 0) for event in graph.events]
        self._at = backward(graph.before, live, stays)

    def live(self, name: str, node: ast.AST) -> bool:
        """Tell whether a path from a place leads to a read of the name before it is bound again."""
        bit = self._bits.get(name, 0)
        return any(self._at[index] & bit for index in self.graph.points.get(node, []))
