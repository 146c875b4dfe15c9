"""Keep variables of functions in small objects: as attributes, which functions share."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from codemods.equal.objects import Known
from codemods.program.lifting import Analysis
from codemods.rewrites.objects.cell import ClassNames, Kept, Objects
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import imports_above
from codemods.rewrites.text.layout import indentation


def keep_in_objects(analysis: Analysis, objects: Objects, imported: Known) -> Program:
    """Define the classes, make the objects and use their attributes.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    touched: list[ast.AST] = []
    for kept, _ in objects:
        touched += [kept.at, *kept.names, *kept.declarations]
    program, newline = Program(analysis.source, touched), analysis.source.newline
    first = min(kept.root.lineno for kept, _ in objects)
    program.insert(*imports_above(analysis.source, newline.join(imported.added), first))
    for kept, names in objects:
        making = _statements(_making(kept, names))
        program.before(kept.at, lambda made=making: made)  # type: ignore[misc]
        for name in kept.names:
            program.change(program.name(name), lambda node, names=names: _attribute(node, names.variable))  # type: ignore[misc]
        for statement in kept.declarations:
            program.take_names(statement, frozenset(kept.variables))
        indent = indentation(analysis.source, kept.root.lineno)
        rows = (f"{indent}{row}{newline}" if row else newline for row in _class(kept, names, imported))
        program.above(kept.root, ["".join(rows)])
    return program


def _statements(lines: Sequence[str]) -> list[cst.BaseStatement]:
    """New statements."""
    made = cst.parse_module("".join(line + "\n" for line in lines)).body
    return [statement for statement in made if isinstance(statement, cst.BaseStatement)]


def _attribute(node: cst.Name, variable: str) -> cst.Attribute:
    """A name as an attribute of a variable's object."""
    bare = node.with_changes(lpar=(), rpar=())
    return cst.Attribute(cst.Name(variable), bare, lpar=node.lpar, rpar=node.rpar)


def _making(kept: Kept, names: ClassNames) -> list[str]:
    """The statements that make the object; a parameter that may be bound again is then its alone."""
    given = [f"{name}={name}" for name in kept.given]
    line = f"{names.variable} = {names.type_name}({', '.join(given)})"
    return [line, f"del {', '.join(kept.given)}"] if kept.given else [line]


def _class(kept: Kept, names: ClassNames, imported: Known) -> list[str]:
    kinds = imported.names
    lines = [
        f"@{kinds['dataclass']}(slots=True)",
        f"class {names.type_name}:",
        f'    """Variables that {kept.outer.name} shares with its helpers."""',
        "",
    ]
    lines += [f"    {name}: {kinds['Any']}" for name in kept.given]
    return lines + [f"    {name}: {kinds['Any']} = {kinds['field']}(init=False)" for name in kept.later]
