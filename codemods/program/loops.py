"""A function's main loop: where it is, and what it shares with the statements before and after it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from codemods.program import nodes
from codemods.program.flow import Flow, Live
from codemods.program.lifting import Analysis
from codemods.program.scopes import Binder, Scope, Use
from codemods.program.source import Unusable, blocks_of

Region = Literal["setup", "loop", "tail"]
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_AROUND = (ast.With, ast.Try, ast.TryStar, ast.If)


class LoopError(Unusable):
    """There is no such loop; the message is one line."""


def loop_statement(
    node: ast.FunctionDef | ast.AsyncFunctionDef, at: int | None, line: Callable[[int], int]
) -> ast.stmt:
    """The top-level statement that is, or contains, the main loop; ``at`` counts those from 1.

    ``line`` gives the line to be named for one of the text.

    Raises:
        LoopError: if there is none, or several and no ``at``.
    """
    found = statements_with_loops(node)
    direct = [s for s in found if isinstance(s, _LOOPS)]
    if not found:
        raise LoopError(f"{node.name} has no loop among its statements, or in an if, with or try of them")
    if at is not None:
        if at > len(found):
            raise LoopError(f"at = {at}, but only {len(found)} of {node.name}'s own statements hold a loop")
        return found[at - 1]
    chosen = direct or found
    if len(chosen) > 1:
        places = ", ".join(f"{found.index(s) + 1} (line {line(s.lineno)})" for s in found)
        raise LoopError(f"{node.name} has several statements with a loop; choose one with at: {places}")
    return chosen[0]


def statements_with_loops(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements of a function that are loops, or hold one."""
    return [s for s in node.body if isinstance(s, (*_LOOPS, *_AROUND)) and _has_loop(s)]


def _has_loop(statement: ast.AST) -> bool:
    """Tell whether a statement is a loop or holds one that runs in its frame."""
    if isinstance(statement, _LOOPS):
        return True
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    blocks = [] if isinstance(statement, functions) else blocks_of(statement)
    return any(_has_loop(inner) for block in blocks for inner in block)


@dataclass(frozen=True)
class Parts:
    """A function in three parts: the setup (parameters included), the loop, the tail."""

    analysis: Analysis
    scope: Scope
    node: ast.FunctionDef | ast.AsyncFunctionDef
    loop: ast.stmt
    _used: dict[tuple[Scope, str], dict[Region, list[Use]]] = field(default_factory=dict, compare=False)

    @property
    def last(self) -> int:
        """The loop's last line."""
        assert self.loop.end_lineno is not None
        return self.loop.end_lineno

    @property
    def setup(self) -> list[ast.stmt]:
        """Statements before the loop."""
        return self.node.body[: self.node.body.index(self.loop)]

    @property
    def tail(self) -> list[ast.stmt]:
        """Statements after the loop."""
        return self.node.body[self.node.body.index(self.loop) + 1 :]

    @cached_property
    def _regions(self) -> dict[ast.AST, Region]:
        """The part of every node of the loop and the tail; lines of nodes in strings are not reliable."""
        parts: dict[Region, list[ast.stmt]] = {"setup": self.setup, "loop": [self.loop], "tail": self.tail}
        return {node: part for part, body in parts.items() for s in body for node in nodes.walk(s)}

    def region(self, node: ast.AST, line: int) -> Region:
        """Which part a node of the function belongs to; by its line where the tree does not have it."""
        if node in self._regions:
            return self._regions[node]
        if line < self.loop.lineno:
            return "setup"
        return "loop" if line <= self.last else "tail"

    def uses(self, name: str, region: Region, owner: Scope | None = None) -> list[Use]:
        """Loads of a variable in one part."""
        key = (owner or self.scope, name)
        if key not in self._used:
            found: dict[Region, list[Use]] = {"setup": [], "loop": [], "tail": []}
            for use in self.analysis.tree.uses.get(key, ()):
                if use.scope.inside(self.scope):
                    found[self.region(use.node, use.node.lineno)].append(use)
            self._used[key] = found
        return self._used[key][region]

    def binders(self, name: str, region: Region) -> list[Binder]:
        """Bindings and unbindings of a variable of the function in one part."""
        found = self.analysis.tree.binders.get((self.scope, name), [])
        return [binder for binder in found if self.region(binder.node, binder.line) == region]

    def captured(self, name: str, region: Region) -> int | None:
        """The line of a use of a variable by code in one part that may run later, or None."""
        later = (use for use in self.uses(name, region) if use.scope.frame() is not self.scope)
        return next((use.node.lineno for use in later), None)

    def shared_write(self, name: str, region: Region) -> int | None:
        """The line of a binding of a variable by a nested function of one part, or None."""
        later = (binder for binder in self.binders(name, region) if binder.scope.frame() is not self.scope)
        return next((binder.line for binder in later), None)

    @cached_property
    def names(self) -> list[str]:
        """The function's variables that the loop reads or binds, in the order of its text."""
        tree = self.analysis.tree
        first: dict[str, tuple[int, int]] = {}
        for (owner, name), uses in tree.uses.items():
            for use in uses if owner is self.scope else ():
                if self.region(use.node, use.node.lineno) == "loop":
                    first[name] = min(first.get(name, use.position), use.position)
        for (owner, name), binders in tree.binders.items():
            for binder in binders if owner is self.scope else ():
                if self.region(binder.node, binder.line) == "loop":
                    place = (binder.line, getattr(binder.node, "col_offset", 0))
                    first[name] = min(first.get(name, place), place)
        return sorted(first, key=lambda name: (first[name], name))

    @cached_property
    def globals(self) -> dict[str, int]:
        """Globals and builtins that the loop reads, in the order of its text, with the line of a read."""
        module = self.analysis.tree.module
        found: dict[str, tuple[int, int]] = {}
        for owner, name in self.analysis.tree.uses:
            if owner is module:
                uses = self.uses(name, "loop", module)
                if uses:
                    found[name] = min(use.position for use in uses)
        return {name: found[name][0] for name in sorted(found, key=lambda name: (found[name], name))}

    # What is bound, and may be read later, where the loop starts and ends. Asking raises NotUnderstood if
    # the function holds a statement whose flow is not known.

    @cached_property
    def _flow(self) -> Flow:
        return self.analysis.flow(self.scope)

    @cached_property
    def _lives(self) -> Live:
        return Live(self._flow.graph, self.scope.private)

    def bound_before(self, name: str) -> bool:
        """Tell whether the variable is surely bound where the loop begins."""
        return name in self._flow.graph.names and self._flow.bound_at(self.loop, name)

    def bound_after(self, name: str) -> bool:
        """Tell whether the variable is surely bound where the tail, of which there is some, begins."""
        return self._flow.bound_at(self.tail[0], name)

    def unbinds(self, name: str) -> bool:
        """Tell whether a statement of the function unbinds the variable."""
        return self._flow.unbinds(name)

    def read_in_loop(self, name: str) -> bool:
        """Tell whether the value that a variable has before the loop may be read, in the loop or after it."""
        anyhow = self._anyhow(name, "loop") or self._anyhow(name, "tail")
        return anyhow or self._lives.live(name, self.loop)

    def read_in_tail(self, name: str) -> bool:
        """Tell whether the value that a variable has after the loop may be read."""
        return self._anyhow(name, "tail") or any(self._lives.live(name, s) for s in self.tail[:1])

    def _anyhow(self, name: str, region: Region) -> bool:
        """Tell whether functions inside a part, which run at any time, read or bind a variable."""
        return self.captured(name, region) is not None or self.shared_write(name, region) is not None
