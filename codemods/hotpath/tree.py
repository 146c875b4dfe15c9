"""A quick walk over a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Fields that hold no expression, statement or part of one.
_PLAIN = frozenset(
    {
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind",
        "kwd_attrs", "level", "module", "name",
        "op", "ops", "rest", "simple", "tag", "type_comment", "type_ignores",
    }
)  # fmt: skip
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = dict.fromkeys(
    (ast.Constant, ast.Name, ast.Global, ast.Nonlocal, ast.MatchSingleton), ()
)


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node in the order of the text, names of operators and contexts left aside."""
    fields = _FIELDS.get(type(node))
    if fields is None:
        fields = _FIELDS[type(node)] = tuple(name for name in node._fields if name not in _PLAIN)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [part for part in value if part is not None]
        elif value is not None:
            found.append(value)
    return found


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is in it, in no particular order."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += children(one)
