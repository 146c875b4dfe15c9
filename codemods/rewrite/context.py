"""Collect captures in a frozen dataclass, and let helpers read its attributes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from codemods.decide.classes import ClassNames, Imported
from codemods.decide.context import Context
from codemods.facts.lifting import Analysis, Need
from codemods.facts.source import Source
from codemods.rewrite.classes import add_class, made, read_from
from codemods.rewrite.imports import imports_on_top
from codemods.rewrite.layout import annotation_text, room
from codemods.rewrite.program import Program


def collect_captures(
    analysis: Analysis,
    contexts: Sequence[tuple[Context, ClassNames]],
    imported: Imported,
    annotate: Callable[[Need, ast.AST], ast.expr | None],
) -> Program:
    """Define the classes, make the objects and read their attributes; ``annotate`` gives the annotations of
    fields, where they are known where an object is made.

    Raises:
        TextNotPreserved: if libcst would write a touched part differently.
    """
    source = analysis.source
    touched: list[ast.AST] = []
    for context, _ in contexts:
        touched += [context.at, _root(context), *(use.node for use in context.reads)]
    program = Program(source, touched)
    for context, names in contexts:
        lines = _making(source, context, names)
        program.before(context.at, lambda lines=lines: made(lines))  # type: ignore[misc]
        read_from(program, (use.node for use in context.reads), names.variable)
        add_class(program, _root(context), _class(context, names, imported, annotate))
    program.insert(*imports_on_top(source, imported.missing))
    return program


def _root(context: Context) -> ast.stmt:
    root = context.helpers[0].root.node
    assert isinstance(root, ast.stmt)
    return root


def _making(source: Source, context: Context, names: ClassNames) -> list[str]:
    """The statement that makes the object."""
    given = [f"{name}={name}" for name, _ in context.fields]
    line = f"{names.variable} = {names.type_name}({', '.join(given)})"
    if len(line) <= room(source, context.at.lineno):
        return [line]
    return [f"{names.variable} = {names.type_name}(", *(f"    {item}," for item in given), ")"]


def _class(
    context: Context,
    names: ClassNames,
    imported: Imported,
    annotate: Callable[[Need, ast.AST], ast.expr | None],
) -> list[str]:
    lines = [
        f"@{imported.names['dataclass']}(frozen=True, slots=True)",
        f"class {names.type_name}:",
        f'    """What helpers of {context.outer.name} read of its variables."""',
        "",
    ]
    for need in context.fields:
        stated = annotate(need, context.at)
        annotation = annotation_text(stated) if stated is not None else imported.names["Any"]
        lines.append(f"    {need[0]}: {annotation}")
    return lines
