"""Whose values may still be read: a fixed point over a frame's graph, backwards."""

from __future__ import annotations

import ast
from functools import cached_property

from codemods.facts.flow import backward
from codemods.facts.graph import Graph
from codemods.facts.scopes import mangle


class Live:
    """Which names may be read after a place before they are bound again."""

    def __init__(self, graph: Graph, private: str | None) -> None:
        """``private`` is the class whose names are mangled in the frame."""
        self.graph = graph
        self._reads: dict[str, set[int]] = {}
        for node, indices in graph.points.items():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._reads.setdefault(mangle(node.id, private), set()).update(indices)

    def reads(self, name: str, node: ast.AST) -> None:
        """Count a place as one that reads a name; before the first question."""
        self._reads.setdefault(name, set()).update(self.graph.points.get(node, ()))

    def live(self, name: str, node: ast.AST) -> bool:
        """Whether a path from a place leads to a read of the name before it is bound again."""
        bit = self._bits.get(name, 0)
        return any(self._at[index] & bit for index in self.graph.points.get(node, []))

    @cached_property
    def _bits(self) -> dict[str, int]:
        """A bit for every name that is read."""
        return {name: 1 << number for number, name in enumerate(self._reads)}

    @cached_property
    def _at(self) -> list[int]:
        """At every event, the names whose values may be read from there on before they are bound again."""
        before = self.graph.before
        stays = [~self._bits.get(event.bind or "", 0) for event in self.graph.events]
        live = [0] * len(before)
        for name, reads in self._reads.items():
            for index in reads:
                live[index] |= self._bits[name]
        return backward(before, live, stays)
