"""Keep variables that functions share in an object, as its attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import libcst as cst

from codemods.decide.box import Box
from codemods.decide.classes import ClassNames, Imported
from codemods.facts.lifting import Analysis
from codemods.rewrite.classes import add_class, made, read_from
from codemods.rewrite.imports import imports_on_top
from codemods.rewrite.program import Program


def box_variables(analysis: Analysis, boxes: Sequence[tuple[Box, ClassNames]], imported: Imported) -> Program:
    """Define the classes, make the objects and use their attributes.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    touched: list[ast.AST] = []
    for box, _ in boxes:
        touched += [box.at, box.helpers[0].root.node, *box.names, *box.declarations]
    program = Program(analysis.source, touched)
    for box, names in boxes:
        lines = _making(box, names)
        program.before(box.at, lambda lines=lines: made(lines), count=len(lines))  # type: ignore[misc]
        read_from(program, box.names, names.variable)
        for statement in box.declarations:
            _declaration(program, analysis, box, statement)
        root = box.helpers[0].root.node
        assert isinstance(root, ast.stmt)
        add_class(program, root, _class(box, names, imported))
    program.insert(*imports_on_top(analysis.source, imported.missing))
    return program


def _making(box: Box, names: ClassNames) -> list[str]:
    """The statements that make the object; a parameter's value is then the object's alone."""
    given = ", ".join(f"{name}={name}" for name in box.given)
    lines = [f"{names.variable} = {names.type_name}({given})"]
    return lines + ([f"del {', '.join(box.given)}"] if box.given else [])


def _class(box: Box, names: ClassNames, imported: Imported) -> list[str]:
    lines = [
        f"@{imported.names['dataclass']}(slots=True)",
        f"class {names.type_name}:",
        f'    """Variables that {box.outer.name} shares with its helpers."""',
        "",
    ]
    kinds = imported.names
    lines += [f"    {name}: {kinds['Any']}" for name in box.given]
    later = [name for name in box.variables if name not in box.given]
    return lines + [f"    {name}: {kinds['Any']} = {kinds['field']}(init=False)" for name in later]


def _declaration(program: Program, analysis: Analysis, box: Box, statement: ast.Nonlocal) -> None:
    """Take names out of a nonlocal declaration, or all of it where its line and block have no need of it."""
    left = [name for name in statement.names if name not in box.variables]
    line = program.lines[statement]
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    remarked = isinstance(line, cst.SimpleStatementLine) and line.trailing_whitespace.comment is not None
    if not left and alone and not remarked and _is_spare(analysis, statement):
        program.drop(statement)
        return

    def change(node: Any) -> cst.BaseSmallStatement:
        if not left:
            return cst.Pass(semicolon=node.semicolon)
        items = [cst.NameItem(cst.Name(name)) for name in left]
        return cst.Nonlocal(items, semicolon=node.semicolon)

    program.change(program.nodes[statement], change)


def _is_spare(analysis: Analysis, statement: ast.stmt) -> bool:
    """Whether a block can do without a statement, and no string would become a docstring."""
    block = analysis.tree.blocks[statement]
    following = block[block.index(statement) + 1 : block.index(statement) + 2]
    return bool(following) and not isinstance(following[0], (ast.Expr, ast.Nonlocal))
