"""Which variables a round of a loop may take over from the round before."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.hotpath.tree import children, inside

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def carried(loop: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Names that a loop's body, or its test, may read before it binds them itself."""
    found: set[str] = set()
    bound: set[str] = set()
    if isinstance(loop, ast.While):
        found.update(_read(loop.test))
    else:
        bound.update(_bound(loop.target))
    _block(loop.body, bound, found)
    return frozenset(found)


def captured(function: ast.AST) -> frozenset[str]:
    """Names that functions inside a function read, whenever they are called."""
    inner = [part for part in inside(function) if isinstance(part, _FUNCTIONS) and part is not function]
    return frozenset(name for part in inner for name in _read(part))


def _block(body: Iterable[ast.stmt], bound: set[str], found: set[str]) -> None:
    for node in body:
        if isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
            inner: list[ast.AST] = []
            blocks: list[list[ast.stmt]] = []
            for name in node._fields:
                value = getattr(node, name)
                if name in ("body", "orelse"):
                    blocks.append(value)
                elif isinstance(value, list):
                    inner += value
                elif isinstance(value, ast.AST):
                    inner.append(value)
            for part in inner:
                found.update(name for name in _read(part) if name not in bound)
            if isinstance(node, (ast.With, ast.AsyncWith)):
                _block(node.body, bound, found)
                continue
            for block in blocks:
                _block(block, set(bound), found)
            continue
        found.update(name for name in _read(node) if name not in bound)
        if isinstance(node, ast.Assign):
            bound.update(name for target in node.targets for name in _bound(target))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            bound.update(_bound(node.target))


def _read(node: ast.AST) -> Iterator[str]:
    for part in inside(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


def _bound(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
        for part in children(target):
            if isinstance(part, ast.expr):
                yield from _bound(part)
