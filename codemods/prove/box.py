"""Proof that uses of variables became uses of boxes' attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.decide.box import Box
from codemods.decide.classes import ClassNames, Imported
from codemods.facts.source import Source
from codemods.prove.attributes import VariablesBack, take_out_making
from codemods.prove.code import NotProven, drop_statements


def prove_boxes(
    old: Source, new: Source, boxes: Sequence[tuple[Box, ClassNames]], imported: Imported
) -> None:
    """Check that a text is another in which uses of variables became uses of boxes' attributes.

    With the classes, the objects' making and the nonlocal declarations taken out, and attributes used as
    variables again, both trees are equal. So the code differs in this alone: where it loaded or stored a
    cell, it loads the box and loads or stores an attribute of it. That no attribute is read before it is set
    follows from the flow.

    Raises:
        NotProven: if anything differs but that.
    """
    before, tree = ast.parse(old.text), ast.parse(new.text)
    for box, names in boxes:
        take_out_making(tree, box.outer, box.at, names.variable, _making(box, names))
    classes = {names.type_name: _class(box, names, imported) for box, names in boxes}
    seen: list[str] = []

    def added(statement: ast.stmt) -> bool:
        text = ast.unparse(statement)
        if text in imported.missing:
            seen.append(text)
            return True
        if isinstance(statement, ast.ClassDef) and statement.name in classes:
            seen.append(statement.name)
            return ast.dump(statement) == ast.dump(ast.parse(classes[statement.name]).body[0])
        return False

    drop_statements(tree, added)
    if sorted(seen) != sorted([*imported.missing, *classes]):
        raise NotProven("a box's class or import is not there once")
    if imported.missing and not set(seen[: len(imported.missing)]) == set(imported.missing):
        raise NotProven("a box's class is defined before what it needs is imported")
    turn = VariablesBack({names.variable: box.variables for box, names in boxes}, stored=True)
    tree = turn.visit(tree)
    if turn.count != sum(len(box.names) for box, _ in boxes):
        raise NotProven("not every use became one of an attribute")
    boxed = {(s.lineno, s.col_offset): box.variables for box, _ in boxes for s in box.declarations}
    for node in ast.walk(before):
        if isinstance(node, ast.Nonlocal):
            held = boxed.get((node.lineno, node.col_offset), ())
            node.names = [name for name in node.names if name not in held]
    drop_statements(before, lambda s: isinstance(s, ast.Nonlocal) and not s.names)
    for module in (before, tree):
        drop_statements(module, lambda s: isinstance(s, ast.Pass))
    if ast.dump(before) != ast.dump(tree):
        raise NotProven("something besides the uses of boxed variables differs")


def _class(box: Box, names: ClassNames, imported: Imported) -> str:
    """The class that a box must have."""
    kinds = imported.names
    fields = [f"    {name}: {kinds['Any']}" for name in box.given]
    later = [name for name in box.variables if name not in box.given]
    fields += [f"    {name}: {kinds['Any']} = {kinds['field']}(init=False)" for name in later]
    head = f"@{kinds['dataclass']}(slots=True)\nclass {names.type_name}:"
    return "\n".join([head, f'    """Variables that {box.outer.name} shares with its helpers."""', *fields])


def _making(box: Box, names: ClassNames) -> list[str]:
    """The statements that must make the object; a parameter's value is then the object's alone."""
    given = ", ".join(f"{name}={name}" for name in box.given)
    made = [f"{names.variable} = {names.type_name}({given})"]
    return made + ([f"del {', '.join(box.given)}"] if box.given else [])
