"""Annotations of a file, texts that mention names as a program does, and the names in both."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator

from codemods.program.nodes import all_arguments, called_name, walk
from codemods.program.scopes import ScopeTree
from codemods.program.source import expression_in


def stated_by(node: ast.AST) -> list[ast.expr]:
    """The annotations of a function's parameters and result, or of an assignment; none of other nodes."""
    found: list[ast.expr | None] = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found = [*(argument.annotation for argument in all_arguments(node.args)), node.returns]
    elif isinstance(node, ast.AnnAssign):
        found = [node.annotation]
    return [annotation for annotation in found if annotation is not None]


def annotations_in(tree: ast.AST) -> list[ast.expr]:
    """All annotations in a tree."""
    return [annotation for node in walk(tree) for annotation in stated_by(node)]


def quoted_in(part: ast.AST) -> set[str]:
    """Names that type checkers and linters read in texts of a part of a file: in annotations and casts."""
    types: list[ast.expr] = []
    for node in walk(part):
        if isinstance(node, ast.Call) and called_name(node) == "cast":
            types += node.args[:1]
        else:
            types += stated_by(node)
    inner = (node for each in types for node in ast.walk(each))
    return annotation_names(n for n in inner if isinstance(n, ast.Constant) and isinstance(n.value, str))


def cannot_fail(annotation: ast.expr) -> bool:
    """Tell whether evaluating an annotation that a rewrite adds does nothing: a text, or a builtin class."""
    match annotation:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in ("bool", "bytes", "float", "int", "str")
    return False


def annotation_names(annotations: Iterable[ast.expr]) -> set[str]:
    """Names that annotations refer to, also from inside string annotations."""
    parts = (part for annotation in annotations for part in ast.walk(annotation))
    said = (ast.walk(unquoted(part)) if isinstance(part, ast.Constant) else [part] for part in parts)
    return {name.id for each in said for name in each if isinstance(name, ast.Name)}


def unquoted(node: ast.expr) -> ast.expr:
    """Return an annotation that is a text as what the text says, if that is an expression."""
    text = node.value if isinstance(node, ast.Constant) else None
    return (expression_in(text.strip()) if isinstance(text, str) else None) or node


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
