"""Relative imports made absolute."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

import libcst as cst

from codemods.facts.imports import imported_module
from codemods.facts.source import Source, statements_in
from codemods.rewrite.layout import BLANK
from codemods.rewrite.program import Program


def relative_imports(trees: Iterable[ast.AST], package: str | None) -> dict[ast.ImportFrom, str]:
    """The relative imports in some trees, with the modules they name; none where no package is known."""
    if package is None:
        return {}
    found = (node for tree in trees for node in statements_in(tree))
    return {
        node: imported_module(node, package)
        for node in found
        if isinstance(node, ast.ImportFrom) and node.level
    }


def make_absolute(program: Program, imports: Mapping[ast.ImportFrom, str]) -> None:
    """Write relative imports as absolute ones."""
    for statement, name in imports.items():

        def how(node: cst.ImportFrom, name: str = name) -> cst.ImportFrom:
            module = cst.parse_expression(name)
            return node.with_changes(relative=(), module=module, whitespace_after_from=BLANK)

        program.change(program.nodes[statement], how)


def absolute_text(source: Source, package: str | None) -> str:
    """A file's text with all its imports absolute."""
    found = relative_imports([source.tree], package)
    if not found:
        return source.text
    program = Program(source, found)
    make_absolute(program, found)
    return program.text()
