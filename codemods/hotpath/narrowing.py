"""Kinds of a variable after a test of its type."""

from __future__ import annotations

import ast

from codemods.hotpath.frame import Env, Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.kinds import BOTTOM, HOST, TENSOR, UNKNOWN, Kind, is_tensor, join


def narrowed(it: Interpreter, frame: Frame, test: ast.expr) -> tuple[Env, Env]:
    """Return the kinds of variables where a test of a type holds and where it does not."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            inside, outside = narrowed(it, frame, operand)
            return outside, inside
        case ast.BoolOp(ast.And(), [*values]):
            inside = {}
            for value in values:
                inside.update(narrowed(it, frame, value)[0])
            return inside, {}
        case ast.Call(ast.Name("isinstance"), [ast.Name(name), types]):
            now = it.lookup(frame, name)
            kind = _tested(it, frame, types)
            if is_tensor(kind):
                return _a_tensor(name, now), _not_tensor(name, now)
            return ({name: kind} if now.tag == "unknown" or is_tensor(now) else {}), {}
        case ast.Call(ast.Attribute(attr="is_tensor"), [ast.Name(name)]):
            now = it.lookup(frame, name)
            return _a_tensor(name, now), _not_tensor(name, now)
        case ast.Compare(
            ast.Call(ast.Name("type"), [ast.Name(name)]),
            [ast.Is() | ast.Eq() | ast.IsNot() | ast.NotEq()],
            [one],
        ):
            now, kind = it.lookup(frame, name), _tested(it, frame, one)
            if not is_tensor(kind):
                return {}, {}
            pair = _a_tensor(name, now), _not_tensor(name, now)
            return pair if isinstance(test.ops[0], (ast.Is, ast.Eq)) else pair[::-1]
        case ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]):
            return {name: HOST}, {}
    return {}, {}


def _a_tensor(name: str, now: Kind) -> Env:
    # What is a number wherever it comes from never gets here: it stays one.
    return {name: now if now.tag in ("tensor", "mask", "cpu", "host", "text") else TENSOR}


def _not_tensor(name: str, now: Kind) -> Env:
    return {name: HOST} if now.tag == "unknown" or is_tensor(now) else {}


def _tested(it: Interpreter, frame: Frame, types: ast.expr) -> Kind:
    """The kind of what passes an ``isinstance`` test."""
    kinds = [
        it.annotated(item, frame.module) for item in (types.elts if isinstance(types, ast.Tuple) else [types])
    ]
    result = BOTTOM
    for kind in kinds:
        result = join(result, kind)
    return UNKNOWN if result.tag == "bottom" else result
