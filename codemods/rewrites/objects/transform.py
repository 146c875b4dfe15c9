"""Keep variables of functions in small objects: as attributes, which functions share."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import libcst as cst

from codemods.equal.objects import Kept, Known
from codemods.program.lifting import Analysis
from codemods.rewrites.objects.cell import Cell
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import imports_above
from codemods.rewrites.text.layout import indentation


def keep_in_objects(analysis: Analysis, cells: Sequence[Cell], imported: Known) -> Program:
    """Define the classes, make the objects and use their attributes.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    touched: list[ast.AST] = []
    for cell in cells:
        touched += [cell.at, *cell.names, *cell.annotated, *cell.declarations]
    program, newline = Program(analysis.source, touched), analysis.source.newline
    first = min(cell.root.lineno for cell in cells)
    program.insert(*imports_above(analysis.source, newline.join(imported.added), first))
    for cell in cells:
        making, variable = _statements(_making(cell.claim)), cell.claim.variable
        program.before(cell.at, lambda made=making: made)  # type: ignore[misc]
        for name in cell.names:
            program.change(program.name(name), lambda node, variable=variable: _attribute(node, variable))  # type: ignore[misc]
        for annotated in cell.annotated:
            program.change(program.nodes[annotated], _plain)
        for statement in cell.declarations:
            program.take_names(statement, cell.claim.variables)
        indent = indentation(analysis.source, cell.root.lineno)
        rows = (f"{indent}{row}{newline}" if row else newline for row in _class(cell, imported.names))
        program.above(cell.root, ["".join(rows)])
    return program


def _statements(lines: Sequence[str]) -> list[cst.BaseStatement]:
    """New statements."""
    made = cst.parse_module("".join(line + "\n" for line in lines)).body
    return [statement for statement in made if isinstance(statement, cst.BaseStatement)]


def _attribute(node: cst.Name, variable: str) -> cst.Attribute:
    """A name as an attribute of a variable's object."""
    bare = node.with_changes(lpar=(), rpar=())
    return cst.Attribute(cst.Name(variable), bare, lpar=node.lpar, rpar=node.rpar)


def _plain(node: cst.AnnAssign) -> cst.Assign:
    """An assignment without its annotation: an attribute's is its class's to state."""
    assert node.value is not None
    return cst.Assign([cst.AssignTarget(node.target)], node.value, node.semicolon)


def _making(claim: Kept) -> list[str]:
    """The statements that make the object; a parameter that may be bound again is then its alone."""
    given = [f"{name}={name}" for name in claim.given]
    line = f"{claim.variable} = {claim.type_name}({', '.join(given)})"
    return [line, f"del {', '.join(claim.given)}"] if given else [line]


def _class(cell: Cell, kinds: Mapping[str, str]) -> list[str]:
    claim = cell.claim
    lines = [
        f"@{kinds['dataclass']}(slots=True)",
        f"class {claim.type_name}:",
        f'    """Variables that {cell.outer.name} shares with its helpers."""',
        "",
    ]
    lines += [f"    {name}: {kinds['Any']}" for name in claim.given]
    kept = ((name, dict(claim.stated).get(name) or kinds["Any"]) for name in claim.later)
    return lines + [f"    {name}: {annotation} = {kinds['field']}(init=False)" for name, annotation in kept]
