"""Calls that run a function they are given (``map``, ``min(key=…)``, executors), and ``getattr``."""

from __future__ import annotations

import ast

from codemods.hotpath.arguments import Arguments
from codemods.hotpath.expressions import SHOWN, attribute
from codemods.hotpath.frame import Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.iteration import item_of
from codemods.hotpath.kinds import UNKNOWN, Kind, element, is_tensor, join, mapping, seq
from codemods.hotpath.outside import compared
from codemods.hotpath.vocabulary import RUNNERS

_SHOW = frozenset(f"builtins.{name}" for name in ("format", "print", "repr", "str"))


def apply_external(
    it: Interpreter, frame: Frame, node: ast.Call, dotted: str, arguments: Arguments
) -> Kind | None:
    """Call something outside the program for what it runs; the result, where that decides about it."""
    first = arguments.first()
    if first is None:
        return None
    if dotted in ("builtins.map", "builtins.filter"):
        return _map(it, frame, node, dotted, arguments, first)
    if dotted in _SHOW:
        for kind in arguments.all():
            it.call_special(frame, node, kind, SHOWN)
    elif dotted in ("builtins.min", "builtins.max", "builtins.sorted") and "key" in arguments.keywords:
        key = it.apply(frame, node, arguments.keywords["key"], Arguments((compared(arguments),)))
        if is_tensor(key):
            it.report(frame, "HP008", node)
    elif dotted == "builtins.next":
        return item_of(it, frame, node, first) if first.tag == "obj" else None
    elif dotted == "builtins.getattr":
        return _get_attribute(it, frame, node, arguments, first)
    elif dotted == "collections.defaultdict":
        return mapping(it.apply(frame, node, first, Arguments()))
    elif dotted == "functools.reduce" and len(arguments.positional) > 1:
        item = element(arguments.positional[1])
        return it.apply(frame, node, first, Arguments((item, item)))
    elif not dotted.startswith("builtins."):
        run_arguments(it, frame, node, arguments, always=dotted.startswith("scipy."))
    return None


def run_arguments(
    it: Interpreter, frame: Frame, node: ast.Call, arguments: Arguments, *, always: bool = False
) -> None:
    """Functions given to something that runs them (an executor, ``map`` of a pool) are called by it."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in RUNNERS and not always:
        return
    for kind in arguments.all():
        if kind.tag in ("fn", "partial", "bound"):
            others = tuple(other for other in arguments.positional if other is not kind)
            it.apply(frame, node, kind, Arguments(others))


def _map(
    it: Interpreter, frame: Frame, node: ast.Call, dotted: str, arguments: Arguments, first: Kind
) -> Kind:
    rest = tuple(map(element, arguments.positional[1:]))
    given = rest[0] if rest else UNKNOWN
    if first.tag == "host":  # `filter(None, …)` asks each element for its truth
        if is_tensor(given):
            it.report(frame, "HP008", node)
        return seq(given)
    result = it.apply(frame, node, first, Arguments(rest))
    if dotted == "builtins.filter":
        if is_tensor(result):
            it.report(frame, "HP008", node)
        return seq(given)
    return seq(result)


def _get_attribute(it: Interpreter, frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    if len(arguments.positional) > 1 and arguments.positional[1].tag == "text":
        name = arguments.positional[1].of
        if isinstance(name, str):
            kind = attribute(it, frame, first, name, node)
            return join(kind, arguments.positional[2]) if len(arguments.positional) > 2 else kind
    return UNKNOWN
