"""Names that the statements of a module read when they run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.nodes import children
from codemods.review.units import bound_by

_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def read_by(statement: ast.stmt, lazy: bool) -> tuple[str, ...]:
    """Names that a statement reads and does not bind; annotations are not worked out if they are `lazy`."""
    if isinstance(statement, _IMPORTS) or _is_plain(statement, lazy):
        return ()
    own = _stored(statement)
    return tuple(dict.fromkeys(name for name in _evaluated(statement, lazy) if name not in own))


def _is_plain(statement: ast.stmt, lazy: bool) -> bool:
    """Is it a function of which nothing is worked out when it is made?"""
    if not lazy or not isinstance(statement, _FUNCTIONS):
        return False
    arguments = statement.args
    return not (statement.decorator_list or arguments.defaults or any(arguments.kw_defaults))


def _evaluated(statement: ast.stmt, lazy: bool) -> Iterator[str]:
    """Names that a statement reads when it runs, those in the functions that it makes left out."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                yield node.id
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
            if not lazy:
                arguments = node.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                every += [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
                waiting += [a.annotation for a in every if a.annotation is not None]
                waiting += [node.returns] if node.returns is not None else []
            continue
        if isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.AnnAssign) and lazy:
            waiting += [node.target, *([node.value] if node.value else [])]
            continue
        waiting.extend(children(node))


def _stored(statement: ast.stmt) -> set[str]:
    """Names that a statement binds, in the body of a class too."""
    found = set(bound_by(statement))
    if isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            found |= _stored(inner)
    return found
