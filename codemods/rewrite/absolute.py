"""Relative imports made absolute."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import libcst as cst

from codemods.facts.imports import imported_module
from codemods.facts.source import Source, statements_in
from codemods.rewrite.layout import BLANK
from codemods.rewrite.program import Program


def relative_imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """The relative imports in a tree."""
    for node in statements_in(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node


def make_absolute(program: Program, imports: Iterable[ast.ImportFrom], package: str) -> None:
    """Write relative imports, made in a package, as absolute ones."""
    for statement in imports:
        name = imported_module(statement, package)

        def how(node: cst.ImportFrom, name: str = name) -> cst.ImportFrom:
            module = cst.parse_expression(name)
            return node.with_changes(relative=(), module=module, whitespace_after_from=BLANK)

        program.change(program.nodes[statement], how)


def absolute_text(source: Source, package: str | None) -> str:
    """A file's text with all its imports absolute."""
    found = [] if package is None else list(relative_imports(source.tree))
    if not found:
        return source.text
    program = Program(source, found)
    assert package is not None
    make_absolute(program, found, package)
    return program.text()
