"""Small classes added to a file, and variables that become attributes of their objects."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

import libcst as cst

from codemods.rewrite.program import Program


def made(lines: Sequence[str]) -> list[cst.BaseStatement]:
    """New statements."""
    return [
        s
        for s in cst.parse_module("".join(line + "\n" for line in lines)).body
        if isinstance(s, cst.BaseStatement)
    ]


def add_class(program: Program, root: ast.stmt, lines: Sequence[str]) -> None:
    """Put a class before a definition."""
    program.before(root, lambda: made(lines), apart=True)


def read_from(program: Program, names: Iterable[ast.Name], variable: str) -> None:
    """Make names the attributes of a variable's object."""

    def attribute(node: cst.Name) -> cst.Attribute:
        bare = node.with_changes(lpar=(), rpar=())
        return cst.Attribute(cst.Name(variable), bare, lpar=node.lpar, rpar=node.rpar)

    for name in names:
        program.change(program.name(name), attribute)
