"""What tests and assignments leave of a variable's type where a function is defined or a loop begins."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.program.events import NotUnderstood
from codemods.program.helpers import own_nodes
from codemods.program.lifting import Analysis
from codemods.program.scopes import Binder, Scope
from codemods.values.types import Type, without_none

Given = Sequence[tuple[Binder, Type | None]]
_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def narrowed(
    analysis: Analysis, name: str, owner: Scope, at: ast.AST, kind: Type, given: Given
) -> Type | None:
    """The type of a variable at a place, ``given`` what each of its bindings gives it; None where a test may
    have made it something that is not known.
    """
    several = len(kind.members) > 1
    try:
        flow = analysis.flow(owner)
        if not flow.knows(at):
            return None if several else kind
        tests = _tests(analysis, owner, name, at)
        if not several:
            return None if any(_asks_class(test, name) for test, _ in tests) else kind
        if flow.rebound_after(at, name) is not None:
            # Whoever reads it later sees any of its values.
            return kind
        reaching = _reaching(analysis, owner, name, at)
    except NotUnderstood:
        return None if several else kind
    sure = _asserted(tests, name)
    if sure is None or (sure and not _stands_before(analysis, sure[-1], at)):
        return None
    since = sure[-1].lineno if sure else 0
    known = True
    for binder, value in given:
        if binder.line not in reaching or binder.line < since:
            continue
        if isinstance(binder.node, ast.arg) or (value is not None and value.is_optional):
            return kind
        known = known and value is not None
    return without_none(kind) if known and reaching and kind.is_optional else None


def _stands_before(analysis: Analysis, statement: ast.stmt, at: ast.AST) -> bool:
    """Whether control passes a statement whenever it comes to a place: it is in a block around that."""
    block = analysis.tree.blocks[statement]
    line = getattr(at, "lineno", 0)
    return any(inner.lineno <= line <= (inner.end_lineno or 0) for inner in block)


def _tests(analysis: Analysis, owner: Scope, name: str, at: ast.AST) -> list[tuple[ast.stmt, bool]]:
    """Statements before a place, or around it, that test a variable, and whether they are around it."""
    line = getattr(at, "lineno", 0)
    found = []
    for node, names in analysis.tree.once(f"tests in {id(owner)}", lambda: _all_tests(owner)):
        around = node.lineno <= line <= (node.end_lineno or 0)
        if name in names and node is not at and (around or node.lineno < line):
            found.append((node, around))
    return found


def _all_tests(owner: Scope) -> list[tuple[ast.stmt, frozenset[str]]]:
    """A function's own statements that test something, in the order of the text, with the names tested."""
    assert isinstance(owner.node, (ast.FunctionDef, ast.AsyncFunctionDef))
    found: list[tuple[ast.stmt, frozenset[str]]] = []
    for node in own_nodes(owner.node.body):
        if isinstance(node, (ast.If, ast.While, ast.Assert, ast.Match)):
            test = node.subject if isinstance(node, ast.Match) else node.test
            names = frozenset(part.id for part in ast.walk(test) if isinstance(part, ast.Name))
            found.append((node, names))
    return sorted(found, key=lambda item: item[0].lineno)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _asks_class(statement: ast.stmt, name: str) -> bool:
    """Whether a test may make of a variable an object of a subclass, and for longer than its block."""
    if isinstance(statement, ast.Match):
        return _mentions(statement.subject, name)
    test = getattr(statement, "test", None)
    return test is not None and any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Name)
        and part.func.id in ("isinstance", "issubclass", "type", "callable")
        and _mentions(part, name)
        for part in ast.walk(test)
    )


def _asserted(tests: list[tuple[ast.stmt, bool]], name: str) -> list[ast.stmt] | None:
    """The tests after which a variable is surely not None; None if one leaves something unknown."""
    found: list[ast.stmt] = []
    for statement, around in tests:
        match statement:
            case ast.Assert(test=test):
                if not any(_is_there(part, name) for part in _conjuncts(test)):
                    return None
                found.append(statement)
            case ast.If(test=test, body=body, orelse=orelse) if not around:
                binds = any(_binds(inner, name) for inner in (*body, *orelse))
                exits = _exits(body) or (bool(orelse) and _exits(orelse))
                if not binds and not exits:
                    continue
                if binds or not _is_missing(test, name) or not _exits(body):
                    if binds and not exits and _is_missing(test, name) and not orelse:
                        # `if x is None: x = ...`: what it is bound to tells.
                        found.append(statement)
                        continue
                    return None
                found.append(statement)
            case ast.While() if not around and not _binds(statement, name) and not _exits_loop(statement):
                continue
            case _:
                return None
    return found


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conjuncts(value)
    else:
        yield test


def _is_there(test: ast.expr, name: str) -> bool:
    """``x is not None`` or ``x``."""
    match test:
        case ast.Name(id=found):
            return found == name
        case ast.Compare(left=ast.Name(id=found), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return found == name
    return False


def _is_missing(test: ast.expr, name: str) -> bool:
    """``x is None`` or ``not x``."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=found)):
            return found == name
        case ast.Compare(left=ast.Name(id=found), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return found == name
    return False


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)
        for part in ast.walk(statement)
    )


def _exits(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], _EXITS)


def _exits_loop(statement: ast.While) -> bool:
    return any(isinstance(part, ast.Break) for part in ast.walk(statement))


def _reaching(analysis: Analysis, owner: Scope, name: str, at: ast.AST) -> set[int]:
    """Lines of the bindings whose values a variable may have at a place."""
    graph = analysis.flow(owner).graph
    waiting = [index for point in graph.points[at] for index in (point, *graph.before[point])]
    seen, lines = set(waiting), set[int]()
    while waiting:
        index = waiting.pop()
        event = graph.events[index]
        if event.bind == name:
            lines.add(event.line)
            continue
        for earlier in graph.before[index]:
            if earlier not in seen:
                seen.add(earlier)
                waiting.append(earlier)
    arguments = [b for b in analysis.tree.binders.get((owner, name), []) if isinstance(b.node, ast.arg)]
    if 0 in seen:
        lines.update(binder.line for binder in arguments)
    return lines
