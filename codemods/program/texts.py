"""Names that texts of a program mention as a program does: annotations in quotes, names to be looked up,
examples of a doctest.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from codemods.program.scopes import ScopeTree
from codemods.program.source import expression_in

_LONGEST = 1_000
_WORD = re.compile(r"[^\W\d]\w*")
_PLACE = re.compile(r"[\w.]+(?::[\w.]+)?")


def mentions(tree: ScopeTree) -> Iterator[tuple[str, int]]:
    """Names that a file's texts mention, with lines."""
    for node in tree.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((name, node.lineno) for name in words_in(node.value))


@functools.lru_cache(maxsize=4096)
def words_in(text: str) -> frozenset[str]:
    """Names in a text that is an expression, a dotted name or an entry point (``package.module:name``), and
    in the examples of one that holds a doctest.
    """
    bare = text.strip()
    if _PLACE.fullmatch(bare):
        return frozenset(all_words(bare))
    examples = [line for line in map(str.strip, text.splitlines()) if line.startswith((">>>", "..."))]
    tree = expression_in(bare) if len(bare) <= _LONGEST and "\n" not in bare else None
    names = (
        frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else frozenset()
    )
    return names.union(*map(all_words, examples))


def all_words(text: str) -> set[str]:
    """Everything in a text that could be a name."""
    return set(_WORD.findall(text))
