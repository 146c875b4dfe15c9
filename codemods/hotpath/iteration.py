"""Going through objects of the program: ``__iter__`` runs before a loop, ``__next__`` in every round."""

from __future__ import annotations

import ast

from codemods.hotpath.arguments import Arguments
from codemods.hotpath.binding import vague
from codemods.hotpath.frame import Frame
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.kinds import BOTTOM, CPU, UNKNOWN, Kind, element, join, seq
from codemods.hotpath.modules import Class

_THROUGH = frozenset(f"builtins.{name}" for name in ("enumerate", "iter", "list", "reversed", "tuple", "zip"))

_WRAPPERS = frozenset({"enumerate", "tqdm", "zip"})


def iterator_of(it: Interpreter, frame: Frame, node: ast.AST, kind: Kind) -> Kind:
    """Return the kind of ``iter`` of a value: of an object, that of its ``__iter__``."""
    if kind.tag != "obj":
        return kind
    result = BOTTOM
    for cls in kind.of:
        method = it.program.method(cls, "__iter__")
        made = UNKNOWN if method is None else it.call(frame, node, method, Kind("obj", (cls,)))
        if made.tag != "obj" and vague(element(made)) and _is_loader(it, cls):
            made = seq(CPU)
        result = join(result, made)
    return result


def item_of(it: Interpreter, frame: Frame, node: ast.AST, iterator: Kind) -> Kind:
    """Return the kind of an iterator's next item; one of the program is asked."""
    if iterator.tag != "obj":
        return element(iterator)
    result = BOTTOM
    for cls in iterator.of:
        method = it.program.method(cls, "__next__")
        result = join(
            result, UNKNOWN if method is None else it.call(frame, node, method, Kind("obj", (cls,)))
        )
    return result


def opened(it: Interpreter, frame: Frame, node: ast.Call, dotted: str, arguments: Arguments) -> Arguments:
    """The arguments of ``enumerate``, ``tqdm`` and the like, objects among them asked for their items."""
    if dotted not in _THROUGH and dotted.rpartition(".")[2].lower() != "tqdm":
        return arguments
    given = [
        seq(item_of(it, frame, node, iterator_of(it, frame, node, kind))) if kind.tag == "obj" else kind
        for kind in arguments.positional
    ]
    return arguments._replace(positional=tuple(given))


def behind(it: Interpreter, frame: Frame, iterable: ast.expr) -> list[tuple[ast.expr, Kind]]:
    """Iterators of the program that a loop over ``enumerate(x)`` or the like takes its items from."""
    found: list[tuple[ast.expr, Kind]] = []
    match iterable:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments) if name.lower() in _WRAPPERS:
            for inner in arguments:
                kind = iterator_of(it, frame, inner, it.evaluate(frame, inner))
                found += [(inner, kind)] if kind.tag == "obj" else behind(it, frame, inner)
    return found


def _is_loader(it: Interpreter, cls: Class) -> bool:
    return any(isinstance(base, str) and base.endswith("DataLoader") for base in it.program.mro(cls))
