"""Which ``if`` in a loop holds once in many rounds, as what it guards begins a count or a clock anew, is done
once, or leaves the loop.

``if seen >= begun + many: ...; begun = seen``, ``if now - last > 60: ...; last = now``, or the rest of a
loop after ``if seen < begun + many: continue``. What is counted must grow in the loop, or be the time: a
best value that is kept where a better one is found is no such count. ``if first: first = False`` and
``if x is None: x = ...`` hold once, if nothing else in the loop sets the name; what ends with ``break`` is
done once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

_CLOCKS = frozenset({"monotonic", "perf_counter", "process_time", "time", "time_ns"})
_DONE = re.compile(r"(?:^|_)(?:done|end|final\w*|finish\w*|last|stop\w*)(?:_|$)")


class _Whole(NamedTuple):
    """A loop: all that is in it, what is set there and to what, what is added to, and what grows."""

    nodes: list[ast.AST]
    values: list[tuple[str, ast.expr]]
    counts: list[str]
    grown: set[str]


def ticks_in(loop: ast.For | ast.AsyncFor | ast.While) -> dict[ast.If, bool]:
    """The ``if`` that hold once in many rounds (True), or in all but few, and skip the rest (False)."""
    nodes = list(ast.walk(loop))
    if not any(node.__class__ is ast.If for node in nodes):
        return {}
    whole = _Whole(nodes, list(_set(nodes)), _grown_by(nodes), set(_grown(nodes)))
    found: dict[ast.If, bool] = {}
    for block in _blocks(loop.body):
        for at, node in enumerate(block):
            if not isinstance(node, ast.If):
                continue
            rest = block[at + 1 :]
            if isinstance(node.body[-1], ast.Continue) and _rest(node.test, rest, whole):
                found[node] = False
            elif (
                isinstance(node.body[-1], ast.Break)
                or _begins_anew(node.test, node.body, whole)
                or _is_done(node.test, node.body, whole)
            ):
                found[node] = True
            elif node.orelse and isinstance(node.orelse[-1], ast.Break):
                found[node] = False
    return found


def _is_done(test: ast.expr, body: list[ast.stmt], whole: _Whole) -> bool:
    """Tell whether a test holds until its body has run once: what it asks for is set there, and nowhere
    else.
    """
    match test:
        case ast.BoolOp(ast.And(), values):
            return any(_is_done(value, body, whole) for value in values)
        case ast.Compare(left, [ast.Is()], [ast.Constant(None)]):
            wanted, path = None, _path(left)
        case ast.UnaryOp(ast.Not(), operand):
            wanted, path = True, _path(operand)
        case _:
            wanted, path = False, _path(test)
    everywhere = [value for name, value in whole.values if name == path]
    if not path or not everywhere:
        return False
    here = [value for name, value in _set([n for s in body for n in ast.walk(s)]) if name == path]
    loops = [node for node in whole.nodes if isinstance(node, ast.For)]
    if len(everywhere) > len(here) or any(path in _names(node.target) for node in loops):
        return False
    constants = [value.value for value in here if isinstance(value, ast.Constant)]
    return not constants if wanted is None else constants == [wanted]


def _names(target: ast.expr) -> list[str]:
    return [_path(node) for node in ast.walk(target)]


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The statements of a loop, other loops and functions in it aside, block by block."""
    yield body
    for node in body:
        if isinstance(node, (ast.If, ast.With, ast.Try)):
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(node, name, [])
                yield from _blocks(inner) if inner else ()


def _rest(test: ast.expr, rest: list[ast.stmt], whole: _Whole) -> bool:
    """Tell whether ``if test: continue`` leaves the rest to few rounds, the first and the last among them."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    ticks = [part for part in parts if _begins_anew(part, rest, whole)]
    return bool(ticks) and all(part in ticks or _mostly(part) for part in parts)


def _mostly(test: ast.expr) -> bool:
    match test:
        case ast.UnaryOp(ast.Not(), ast.Name(name) | ast.Attribute(attr=name)):
            return _DONE.search(name) is not None
        case ast.Compare(ast.Name() | ast.Attribute(), [ast.NotEq() | ast.Gt()], [ast.Constant(0)]):
            return True
    return False


def _begins_anew(test: ast.expr, guarded: list[ast.stmt], whole: _Whole) -> bool:
    """Tell whether a comparison is with what only the guarded statements set: to a count, or to the time."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_begins_anew(part, guarded, whole) for part in test.values)
    if not isinstance(test, ast.Compare) or not isinstance(
        test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)
    ):
        return False
    compared = {_path(node) for node in ast.walk(test)} - {""}
    inside = [node for statement in guarded for node in ast.walk(statement)]
    here, more = list(_set(inside)), _grown_by(inside)
    for name in compared:
        values = [value for path, value in here if path == name]
        others = sum(path == name for path, _ in whole.values) - len(values)
        counts_on = whole.counts.count(name) - more.count(name)
        anew = all(_path(v) in whole.grown or _is_time(v) for v in values)
        if values and not others and not counts_on and anew:
            return True
        if values and not others and counts_on and all(isinstance(v, ast.Constant) for v in values):
            return True  # `count = 0`
        if name in more and not values and not others and not counts_on:
            return True  # `due += every`
    return False


def _grown(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield names that grow in a loop: those added to, and variables that are set to the time."""
    yield from _grown_by(nodes)
    yield from (path for path, value in _set(nodes) if _is_time(value))
    for node in nodes:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            yield node.target.id


def _grown_by(nodes: list[ast.AST]) -> list[str]:
    return [_path(n.target) for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)]


def _set(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield _path(target), node.value


def _is_time(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _last(node.func) in _CLOCKS


def _last(node: ast.expr) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _path(node: ast.AST) -> str:
    """``x`` or ``self.x``; nothing for all else."""
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) and _plain(node) else ""


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
