"""Tests that hold every so many rounds only, as far as that is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from codemods.hotpath.frame import Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.kinds import EVERY, MOSTLY
from codemods.hotpath.modules import Function
from codemods.hotpath.program import dotted_name

# Flags that hold at the end of a loop.
_AT_THE_END = re.compile(r"(?:^|_)(?:cancel\w*|end|final\w*|finish\w*|interrupt\w*|last|stop\w*)(?:_|$)")
# Numbers that a count reaches there.
_TOTAL = re.compile(r"(?:^|_)(?:total|max|num|n)_|_(?:total|per_epoch)$|^total|^max")


def every(it: Interpreter, frame: Frame, test: ast.expr) -> bool | None:
    """Tell whether a test holds every so many rounds only (True), or almost always (False); None if
    unknown.
    """
    return _often(test, lambda part: _known(it, frame, part))


def _known(it: Interpreter, frame: Frame, test: ast.expr) -> bool | None:
    """The same of a name by what it was set to, and of a call by what the function answers."""
    match test:
        case ast.Compare(ast.Name(name), [ast.Eq()]) if it.rules.step_variable(name):
            return True
        case ast.Name(name):
            kind = it.lookup(frame, name)
            if kind.tag in ("host", "unknown") and kind.of in (EVERY, MOSTLY):
                return bool(kind.of == EVERY)
        case ast.Call(function) if dotted_name(function) is not None:
            bodies = [getattr(callee.node, "body", ()) for callee in _callees(it, frame, function)]
            if bodies and all(isinstance(body, list) and _answers_rarely(body) for body in bodies):
                return True
    return None


def _callees(it: Interpreter, frame: Frame, function: ast.expr) -> list[Function]:
    """The functions that a call may run; those of the method's name where its object is unknown."""
    kind = it.evaluate(frame, function)
    if kind.tag == "fn":
        return [item[0] for item in kind.of]
    if kind.tag != "unknown" or not isinstance(function, ast.Attribute):
        return []
    named = it.program.methods_named(function.attr)
    return named if len(named) <= it.config.follow_unknown else []


def _unknown(_: ast.expr) -> None:
    return None


def _often(test: ast.expr, known: Callable[[ast.expr], bool | None] = _unknown) -> bool | None:
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            inner = _often(operand, known)
            return None if inner is None else not inner
        case ast.BoolOp(ast.And(), values):
            return True if any(_often(value, known) for value in values) else None
        case ast.BoolOp(ast.Or(), values):
            rare = [value for value in values if _often(value, known)]
            counted = set(map(ast.dump, _counted(rare)))
            late = [value for value in values if value not in rare]
            return True if rare and all(_at_the_end(value, counted) for value in late) else None
        case ast.BinOp(_, ast.Mod(), ast.Constant(1)) | ast.Compare(ast.BinOp(_, ast.Mod(), ast.Constant(1))):
            return None
        case ast.BinOp(_, ast.Mod(), _) | ast.Compare(ast.BinOp(_, ast.Mod(), _), [ast.NotEq() | ast.Gt()]):
            return False
        case ast.Compare(ast.BinOp(_, ast.Mod(), _), [ast.Eq()]):
            return True
    return known(test)


def _counted(tests: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the dividends in tests of a remainder."""
    for test in tests:
        for node in ast.walk(test):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                yield from (
                    part for part in ast.walk(node.left) if isinstance(part, (ast.Name, ast.Attribute))
                )


def _at_the_end(test: ast.expr, counted: set[str]) -> bool:
    """Tell whether a test, beside one of a remainder, is one of the last round: ``step >= total``,
    ``is_last``.
    """
    match test:
        case ast.Compare(left, [ast.Eq() | ast.GtE() | ast.Gt()], [right]):
            return _is_total(right) or any(ast.dump(part) in counted for part in ast.walk(left))
        case ast.Name(name) | ast.Attribute(attr=name):
            return _AT_THE_END.search(name) is not None
        case ast.Call(function):
            return _at_the_end(function, counted)
    return False


def _is_total(node: ast.expr) -> bool:
    """Tell whether a number is one that a count ends with: ``len(loader) - 1``, ``num_batches``."""
    match node:
        case ast.BinOp(left, ast.Sub(), ast.Constant()):
            return _is_total(left)
        case ast.Call(ast.Name("len")):
            return True
        case ast.Name(name) | ast.Attribute(attr=name):
            return _TOTAL.search(name) is not None
    return False


def _answers_rarely(body: list[ast.stmt]) -> bool:
    """Tell whether a function says yes every so many rounds only: by ``return step % n == 0``, or by
    ``if``.
    """
    answers = list(_answers(body, rare=False))
    return bool(answers) and all(answers)


def _answers(body: list[ast.stmt], *, rare: bool) -> Iterator[bool]:
    """For each ``return`` of something true, whether it runs every so many rounds only."""
    for statement in body:
        match statement:
            case ast.Return(None) | ast.Return(ast.Constant(None | False)):
                pass
            case ast.Return(value):
                yield rare or (value is not None and _often(value) is True)
            case ast.If(test, inner, outer):
                yield from _answers(inner, rare=rare or _often(test) is True)
                yield from _answers(outer, rare=rare or _often(test) is False)
            case ast.For() | ast.While() | ast.With() | ast.Try() | ast.Match():
                yield from (False for node in ast.walk(statement) if isinstance(node, ast.Return))
