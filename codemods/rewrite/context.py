"""Collect captures in a frozen dataclass, and let helpers read its attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.decide.classes import Imported
from codemods.decide.context import Context, ContextNames
from codemods.facts.annotations import stated_annotation
from codemods.facts.lifting import Analysis
from codemods.facts.source import Source
from codemods.rewrite.classes import add_imports, at_class_place
from codemods.rewrite.edits import Edit
from codemods.rewrite.items import line_limit
from codemods.rewrite.lift import first_line, indentation


def context_edits(
    analysis: Analysis, contexts: Sequence[tuple[Context, ContextNames]], imported: Imported
) -> list[Edit]:
    """Edits that define the classes, make the objects and read their attributes."""
    source = analysis.source
    edits = []
    classes: dict[int, str] = {}
    for context, names in contexts:
        edits.append(_making(source, context, names))
        edits += [_read(source, use.node, names) for use in context.reads]
        at_class_place(source, _root(context), _class(analysis, context, names, imported), classes)
    add_imports(source, imported, classes)
    return edits + [Edit(at, at, text) for at, text in classes.items()]


def _root(context: Context) -> ast.stmt:
    root = context.helpers[0].root.node
    assert isinstance(root, ast.stmt)
    return root


def _read(source: Source, node: ast.Name, names: ContextNames) -> Edit:
    start, _ = source.span(node)
    return Edit(start, start, f"{names.variable}.")


def _making(source: Source, context: Context, names: ContextNames) -> Edit:
    """The statement that makes the object."""
    line = first_line(source, context.at)
    indent, newline = indentation(source, context.at.lineno), source.newline
    given = [f"{name}={name}" for name, _ in context.fields]
    text = f"{indent}{names.variable} = {names.type_name}({', '.join(given)})"
    if len(text) > line_limit(source):
        items = "".join(f"{newline}{indent}    {item}," for item in given)
        text = f"{indent}{names.variable} = {names.type_name}({items}{newline}{indent})"
    at = source.starts[line - 1]
    return Edit(at, at, text + newline)


def _class(analysis: Analysis, context: Context, names: ContextNames, imported: Imported) -> list[str]:
    lines = [
        f"@{imported.names['dataclass']}(frozen=True, slots=True)",
        f"class {names.type_name}:",
        f'    """What helpers of {context.outer.name} read of its variables."""',
        "",
    ]
    for need in context.fields:
        stated = stated_annotation(analysis, need)
        annotation = ast.unparse(stated) if stated is not None else imported.names["Any"]
        lines.append(f"    {need[0]}: {annotation}")
    return lines
