"""Names that texts of a program mention as a program does: annotations in quotes, names to be looked up,
examples of a doctest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.program import nodes
from codemods.program.source import Source, expression_in

_LONGEST = 1_000
_WORD = re.compile(r"[^\W\d]\w*")
_PLACE = re.compile(r"[\w.]+(?::[\w.]+)?")
_LOADS = re.compile(rb"\b(__import__|import_module|iter_modules|locate|resolve_name|walk_packages)\b")


def mentions(source: Source, module: str) -> Iterator[tuple[str, int]]:
    """Names that a file's texts mention, with lines; in dotted names those that begin with its own."""
    tail = module.rpartition(".")[2]
    for node in nodes.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            dotted = tail in node.value and _PLACE.fullmatch(node.value.strip())
            for name in _WORD.findall(node.value) if dotted else names_in(node.value):
                yield name, node.lineno


def names_in(text: str) -> set[str]:
    """Names in a text that is an expression, and in the examples of one that holds a doctest."""
    found = set[str]()
    if ">>>" in text:
        for line in map(str.strip, text.splitlines()):
            if line.startswith((">>>", "...")):
                found.update(_WORD.findall(line))
    bare = text.strip()
    if not bare or len(bare) > _LONGEST or "\n" in bare:
        return found
    if bare.isidentifier():
        return found | {bare}
    tree = expression_in(bare)
    if tree is None:
        return found
    return found | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def words_in(text: str) -> set[str]:
    """Names that a text of another file may ask a module for: those of an expression, and what a dotted name
    or an entry point (``package.module:name``) is made of.
    """
    if _PLACE.fullmatch(text.strip()):
        return set(_WORD.findall(text))
    return names_in(text)


def all_words(text: str) -> set[str]:
    """Everything in a text that could be a name."""
    return set(_WORD.findall(text))


def loads_any(data: bytes) -> bool:
    """Whether a file may load modules whose names it does not spell."""
    return _LOADS.search(data) is not None
