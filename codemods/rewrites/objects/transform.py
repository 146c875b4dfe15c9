"""Keep variables of functions in small objects: as attributes, which functions share or only read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import libcst as cst

from codemods.equal.objects import Known
from codemods.program.lifting import Analysis
from codemods.program.source import Source
from codemods.rewrites.objects.classes import ClassNames, Kept, Objects
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import imports_above
from codemods.rewrites.text.layout import annotation_text, room

Annotate = Callable[[Kept, str], ast.expr | None]


def keep_in_objects(analysis: Analysis, objects: Objects, imported: Known, annotate: Annotate) -> Program:
    """Define the classes, make the objects and use their attributes; ``annotate`` gives the annotations of
    fields, where they are known.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    touched: list[ast.AST] = []
    for kept, _ in objects:
        touched += [kept.at, kept.root, *kept.names, *kept.declarations]
    program = Program(analysis.source, touched)
    for kept, names in objects:
        making = _statements(_making(analysis.source, kept, names))
        program.before(kept.at, lambda made=making: made, count=len(making))  # type: ignore[misc]
        for name in kept.names:
            program.change(program.name(name), lambda node, names=names: _attribute(node, names.variable))  # type: ignore[misc]
        for statement in kept.declarations:
            program.take_names(statement, frozenset(kept.variables))
        defined = _statements(_class(kept, names, imported, annotate))
        program.before(kept.root, lambda made=defined: made, apart=True)  # type: ignore[misc]
    first = min(kept.root.lineno for kept, _ in objects)
    program.insert(*imports_above(analysis.source, analysis.source.newline.join(imported.added), first))
    return program


def _statements(lines: Sequence[str]) -> list[cst.BaseStatement]:
    """New statements."""
    made = cst.parse_module("".join(line + "\n" for line in lines)).body
    return [statement for statement in made if isinstance(statement, cst.BaseStatement)]


def _attribute(node: cst.Name, variable: str) -> cst.Attribute:
    """A name as an attribute of a variable's object."""
    bare = node.with_changes(lpar=(), rpar=())
    return cst.Attribute(cst.Name(variable), bare, lpar=node.lpar, rpar=node.rpar)


def _making(source: Source, kept: Kept, names: ClassNames) -> list[str]:
    """The statements that make the object; a parameter that may be bound again is then its alone."""
    given = [f"{name}={name}" for name in kept.given]
    line = f"{names.variable} = {names.type_name}({', '.join(given)})"
    if kept.frozen and len(line) > room(source, kept.at.lineno):
        return [f"{names.variable} = {names.type_name}(", *(f"    {item}," for item in given), ")"]
    return [line, f"del {', '.join(kept.given)}"] if kept.given and not kept.frozen else [line]


def _class(kept: Kept, names: ClassNames, imported: Known, annotate: Annotate) -> list[str]:
    outer, kinds = kept.outer.name, imported.names
    shared = f"Variables that {outer} shares with its helpers."
    lines = [
        f"@{kinds['dataclass']}({'frozen=True, ' if kept.frozen else ''}slots=True)",
        f"class {names.type_name}:",
        f'    """{f"What helpers of {outer} read of its variables." if kept.frozen else shared}"""',
        "",
    ]
    for name in kept.given:
        stated = annotate(kept, name)
        lines.append(f"    {name}: {kinds['Any'] if stated is None else annotation_text(stated)}")
    return lines + [f"    {name}: {kinds['Any']} = {kinds['field']}(init=False)" for name in kept.later]
