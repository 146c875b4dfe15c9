"""What functions capture, where which variables live, what tests replace (`seams_of`): for other programs.

Nothing of the analysed program is imported or run. Lines and columns are those of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from codemods.program.events import NotUnderstood
from codemods.program.flow import Flow, Live
from codemods.program.graph import Graph
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.scopes import Scope, ScopeTree
from codemods.program.source import blocks_of, parse_source


@dataclass(frozen=True, slots=True)
class Capture:
    """A variable of an enclosing function that a helper reads.

    Attributes:
        name: the variable.
        bound: lines that bind or unbind it, sorted; more than one means that it is rebound.
        read: lines of the helper that read it, in order.
        later: whether a function or generator inside the helper reads it, perhaps after the helper returned.
    """

    name: str
    bound: tuple[int, ...]
    read: tuple[int, ...]
    later: bool


@dataclass(frozen=True, slots=True)
class Captures:
    """A function defined inside another one, and what it reads from around it.

    Attributes:
        qualname: names of the functions and classes around it and its own, joined by dots.
        line: of its ``def``.
        captures: in the order in which it first reads them.
        calls: lines that call it by its name.
        values: lines that use it in any other way: pass it, store it, return it.
    """

    qualname: str
    line: int
    captures: tuple[Capture, ...]
    calls: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A statement of a function and the function's variables around it.

    Attributes:
        line: of the statement; its decorators, if it has any, stand above.
        column: where it begins in its line.
        stores: variables that it binds, or unbinds; of one that has blocks none.
        bound: variables that surely have a value when it begins.
        live: variables whose values may be read after it, before they are bound again: by the function, or by
            functions inside it whenever those run.
    """

    line: int
    column: int
    stores: frozenset[str]
    bound: frozenset[str]
    live: frozenset[str]


class NotFollowed(Exception):
    """A function whose flow of control is not understood, or that is not there; the message is one line."""


def captures_of(text: str, path: str = "<text>", *, function: str | None = None) -> tuple[Captures, ...]:
    """The helpers of a program's text, in its order; with ``function`` those defined directly in that one.

    Raises:
        SourceError: if the text is not Python.
    """
    analysis = Analysis(parse_source(text, path))
    chosen = [h for h in analysis.helpers if function is None or h.outer.qualname == function]
    return tuple(_captures(analysis, helper) for helper in chosen)


def liveness_of(text: str, function: str, path: str = "<text>") -> tuple[Moment, ...]:
    """What is bound before each statement of a function, and what is live after it, in the order of the text.

    Statements of functions and classes inside it are left out, and those that control never reaches.

    Raises:
        SourceError: if the text is not Python. NotFollowed: if there is no such function, or more
            than one, or it has a statement whose flow of control is not known.
    """
    analysis = Analysis(parse_source(text, path))
    tree = analysis.tree
    scopes = tree.functions(function)
    if len(scopes) != 1:
        raise NotFollowed(f"{path}: there are {len(scopes)} functions {function}")
    scope = scopes[0]
    names = frozenset(n for owner, n in (*tree.uses, *tree.binders) if owner is scope)
    graph = _Statements(tree, scope, names)
    try:
        graph.build()
    except NotUnderstood as failure:
        line = getattr(failure.node, "lineno", 0)
        raise NotFollowed(f"{path}:{line}: {failure} is a statement that is not followed") from None
    flow, live = Flow(graph), Live(graph, scope.private)
    always = _read_elsewhere(tree, scope)
    binders = {b.node: name for name in names for b in tree.binders.get((scope, name), ())}
    found = []
    for statement, end in graph.ends.items():
        if any(index in graph.entered for index in graph.points[statement]):
            bound = frozenset(name for name in names if flow.bound_at(statement, name))
            after = frozenset(name for name in names if end is not None and live.live(name, end))
            inside = () if blocks_of(statement) else ast.walk(statement)
            stores = frozenset(binders[node] for node in inside if node in binders)
            found.append(Moment(statement.lineno, statement.col_offset, stores, bound, after | always))
    return tuple(sorted(found, key=lambda moment: (moment.line, moment.column)))


class _Statements(Graph):
    """Also marks the places before and after every statement; none after one that control does not leave."""

    @cached_property
    def ends(self) -> dict[ast.stmt, ast.stmt | None]:
        """A place after every statement."""
        return {}

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Run statements one after another."""
        for statement in statements:
            if statement not in self.points:
                self._mark(statement)
            super().block([statement])
            self.ends[statement] = None
            if self.current is not None:
                end = ast.Pass()
                self.ends[statement] = end
                self._mark(end)


def _read_elsewhere(tree: ScopeTree, scope: Scope) -> frozenset[str]:
    """Variables of a function that functions inside it read, or share."""
    found = {
        name
        for (owner, name), uses in tree.uses.items()
        if owner is scope and any(use.scope.frame() is not scope for use in uses)
    }
    return frozenset(found | {name for owner, name in tree.declared if owner is scope})


def _captures(analysis: Analysis, helper: Helper) -> Captures:
    found = []
    for name in helper.captures:
        reads = [(owner, use) for other, owner, use in helper.reads if other == name]
        binders = analysis.tree.binders.get((reads[0][0], name), [])
        found.append(
            Capture(
                name,
                bound=tuple(sorted({binder.line for binder in binders})),
                read=tuple(dict.fromkeys(use.node.lineno for _, use in reads)),
                later=name in helper.kept,
            )
        )
    uses = analysis.uses(helper)
    return Captures(
        helper.qualname,
        helper.node.lineno,
        tuple(found),
        calls=tuple(use.node.lineno for use in uses if use.call is not None),
        values=tuple(use.node.lineno for use in uses if use.call is None),
    )
