"""Names that the statements of a module read when they run."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator

from codemods.program.annotations import stated_by
from codemods.program.nodes import DEFINITIONS, all_defaults, children
from codemods.review.units import bound_by

_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def read_by(statement: ast.stmt, lazy: bool) -> tuple[str, ...]:
    """Names that a statement reads and does not bind; annotations are not worked out if they are `lazy`."""
    if isinstance(statement, _IMPORTS) or _is_plain(statement, lazy):
        return ()
    return tuple(dict.fromkeys(_evaluated(statement, lazy, frozenset())))


def _is_plain(statement: ast.stmt, lazy: bool) -> bool:
    """Is it a function of which nothing is worked out when it is made?"""
    if not lazy or not isinstance(statement, _FUNCTIONS):
        return False
    arguments = statement.args
    return not (statement.decorator_list or arguments.defaults or any(arguments.kw_defaults))


def _evaluated(part: ast.AST, lazy: bool, known: frozenset[str]) -> Iterator[str]:
    """Names that are read when a part of a program runs, but those it binds, those `known` in the classes
    around it, and those in the functions that it makes.
    """
    own = Counter(bound_by(part))
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id not in own and node.id not in known:
                yield node.id
        elif isinstance(node, DEFINITIONS):
            # What makes a function or class is worked out before its name is bound; a builtin may be meant.
            last = node.name if own[node.name] == 1 and not hasattr(builtins, node.name) else None
            bound = known.union(own.keys() - {last}, (each.name for each in getattr(node, "type_params", ())))
            if isinstance(node, ast.ClassDef):
                parts = [*node.decorator_list, *node.bases, *node.keywords, *node.body]
            else:
                parts = [*node.decorator_list, *all_defaults(node.args), *([] if lazy else stated_by(node))]
            for each in parts:
                yield from _evaluated(each, lazy, bound)
                bound = bound.union(bound_by(each))
        elif isinstance(node, ast.Lambda):
            waiting += all_defaults(node.args)
        elif isinstance(node, ast.AnnAssign) and lazy:
            waiting += [node.target, *([node.value] if node.value else [])]
        else:
            waiting += children(node)
