"""Operations without what a refactoring changes: names of variables and their attributes, constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from codemods.program.nodes import DEFINITIONS

_KEPT = frozenset(
    {
        "and",
        "assert",
        "await",
        "del",
        "else",
        "for",
        "if",
        "in",
        "is",
        "lambda",
        "not",
        "or",
        "return",
        "yield",
    }
)
_PART = re.compile(
    r"""\b[bfru]{0,2}(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|\.?\b(?:[^\W\d]\w*\.)*(?P<name>[^\W\d]\w*)(?P<called>\()?|\b\d[\w.]*""",
    re.IGNORECASE,
)
_FEWEST = 0.5


@lru_cache(maxsize=4096)
def form(text: str) -> str:
    """The normal form of code on one line: ``self.losses[i].mean().item()`` is ``_[_].mean().item()``."""
    return _PART.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    if match["name"] in _KEPT:
        return match[0]
    return f".{match['name']}(" if match["called"] else "_"


def body(statements: Iterable[ast.AST]) -> tuple[str, ...]:
    """The normal forms of statements that call something; functions and classes inside left aside.

    What is nested too deeply has none; it is reported as such.
    """
    try:
        return tuple(line for line in map(form, _lines(statements)) if "(" in line)
    except RecursionError:
        return ()


def _lines(statements: Iterable[ast.AST]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, DEFINITIONS):
            continue
        inner = [part for part in ast.iter_child_nodes(node) if _has_statements(part)]
        if inner:
            yield from _lines(inner)
            yield from (
                ast.unparse(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)
            )
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            yield ast.unparse(node)


def _has_statements(node: ast.AST) -> bool:
    return isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case))


def alike(one: Iterable[str], other: Iterable[str]) -> bool:
    """Tell whether at least half of one body is in the other: it is that one, a part of it, or holds it."""
    first, second = set(one), set(other)
    fewer = min(len(first), len(second))
    return fewer > 0 and len(first & second) >= fewer * _FEWEST
