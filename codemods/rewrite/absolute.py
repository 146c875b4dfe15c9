"""Relative imports made absolute."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial

import libcst as cst

from codemods.facts.imports import imported_module
from codemods.facts.source import Source, statements_in
from codemods.rewrite.layout import BLANK
from codemods.rewrite.program import Program


def with_absolute_imports(
    source: Source,
    touched: Iterable[ast.AST],
    trees: Iterable[ast.AST],
    package: str | None,
    around: Iterable[ast.AST] = (),
) -> Program:
    """A file to be rewritten, where relative imports in some trees become absolute, if its package is known.

    Raises:
        TextNotPreserved: as `Program`.
    """
    found = (node for tree in trees if package is not None for node in statements_in(tree))
    imports = [node for node in found if isinstance(node, ast.ImportFrom) and node.level]
    program = Program(source, [*touched, *imports], around)
    for statement in imports:
        name = imported_module(statement, package or "")
        program.change(program.nodes[statement], partial(_named, name=name))
    return program


def _named(node: cst.ImportFrom, name: str) -> cst.ImportFrom:
    module = cst.parse_expression(name)
    return node.with_changes(relative=(), module=module, whitespace_after_from=BLANK)
