"""Keep variables that functions share in an object, as its attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.decide.box import Box, BoxNames
from codemods.decide.classes import Imported
from codemods.facts.source import Source
from codemods.rewrite.classes import add_imports, at_class_place
from codemods.rewrite.edits import Edit
from codemods.rewrite.lift import first_line, indentation


def box_edits(source: Source, boxes: Sequence[tuple[Box, BoxNames]], imported: Imported) -> list[Edit]:
    """Edits that define the classes, make the objects and use their attributes."""
    edits: list[Edit] = []
    classes: dict[int, str] = {}
    for box, names in boxes:
        at = source.starts[first_line(source, box.at) - 1]
        indent = indentation(source, box.at.lineno)
        edits.append(Edit(at, at, "".join(indent + line + source.newline for line in _making(box, names))))
        for node in box.names:
            start, _ = source.span(node)
            edits.append(Edit(start, start, f"{names.variable}."))
        edits += [_declaration(source, box, statement) for statement in box.declarations]
        root = box.helpers[0].root.node
        assert isinstance(root, ast.stmt)
        at_class_place(source, root, _class(box, names, imported), classes)
    add_imports(source, imported, classes)
    return edits + [Edit(at, at, text) for at, text in classes.items()]


def _making(box: Box, names: BoxNames) -> list[str]:
    """The statements that make the object; a parameter's value is then the object's alone."""
    given = ", ".join(f"{name}={name}" for name in box.given)
    lines = [f"{names.variable} = {names.type_name}({given})"]
    return lines + ([f"del {', '.join(box.given)}"] if box.given else [])


def _class(box: Box, names: BoxNames, imported: Imported) -> list[str]:
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


def _declaration(source: Source, box: Box, statement: ast.Nonlocal) -> Edit:
    """Take names out of a nonlocal declaration, or all of it where its line and block have no need of it."""
    start, end = source.span(statement)
    left = [name for name in statement.names if name not in box.variables]
    line = source.lines[statement.lineno - 1]
    if not left and line.strip() == source.text[start:end] and _is_spare(source, statement):
        return Edit(source.starts[statement.lineno - 1], source.starts[statement.lineno], "")
    return Edit(start, end, f"nonlocal {', '.join(left)}" if left else "pass")


def _is_spare(source: Source, statement: ast.stmt) -> bool:
    """Whether a block can do without a statement, and no string would become a docstring."""
    for node in ast.walk(source.tree):
        block = getattr(node, "body", None)
        if isinstance(block, list) and statement in block:
            following = block[block.index(statement) + 1 : block.index(statement) + 2]
            return bool(following) and not isinstance(following[0], (ast.Expr, ast.Nonlocal))
    return False
