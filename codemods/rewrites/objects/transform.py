"""Keep variables of functions in small objects: as attributes, which functions share."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from codemods.equal.objects import Kept, Maker
from codemods.program.lifting import Analysis
from codemods.rewrites.objects.cell import Cell
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import imports_above


def keep_in_objects(analysis: Analysis, cells: Sequence[Cell], maker: Maker) -> Program:
    """Make the objects and use their attributes.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    touched: list[ast.AST] = []
    for cell in cells:
        touched += [cell.at, *cell.names, *cell.annotated, *cell.declarations]
    program = Program(analysis.source, touched)
    program.insert(*imports_above(analysis.source, maker.added, min(cell.root.lineno for cell in cells)))
    for cell in cells:
        making, variable = _making(cell.claim, maker), cell.claim.variable
        program.before(cell.at, lambda made=making: made)  # type: ignore[misc]
        for name in cell.names:
            program.change(program.names[name], lambda node, variable=variable: _attribute(node, variable))  # type: ignore[misc]
        for annotated in cell.annotated:
            program.change(program.nodes[annotated], _plain)
        for statement in cell.declarations:
            program.take_names(statement, cell.claim.variables)
    return program


def _making(claim: Kept, maker: Maker) -> list[cst.BaseStatement]:
    """The statements that make the object; a parameter that may be bound again is then its alone."""
    given = ", ".join(f"{name}={name}" for name in claim.given)
    lines = [
        f"{claim.variable} = {maker.name}({given})",
        *([f"del {', '.join(claim.given)}"] if given else []),
    ]
    return [
        statement for line in lines if isinstance(statement := cst.parse_statement(line), cst.BaseStatement)
    ]


def _attribute(node: cst.Name, variable: str) -> cst.Attribute:
    """A name as an attribute of a variable's object."""
    bare = node.with_changes(lpar=(), rpar=())
    return cst.Attribute(cst.Name(variable), bare, lpar=node.lpar, rpar=node.rpar)


def _plain(node: cst.AnnAssign) -> cst.Assign:
    """An assignment without its annotation, which an attribute's can't have in a function."""
    assert node.value is not None
    return cst.Assign([cst.AssignTarget(node.target)], node.value, node.semicolon)
