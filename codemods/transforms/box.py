"""Keep variables that functions share in an object, as its attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from codemods.analysis.box import Box
from codemods.analysis.source import Source
from codemods.transforms.classes import Imported, add_imports, at_class_place
from codemods.transforms.edits import Edit
from codemods.transforms.lift import first_line, indentation
from codemods.transforms.proof import FUNCTIONS, NotProven, drop_statements


@dataclass(frozen=True, slots=True)
class BoxNames:
    """What a box's class and variable are called."""

    type_name: str
    variable: str


def box_edits(source: Source, boxes: Sequence[tuple[Box, BoxNames]], imported: Imported) -> list[Edit]:
    """Edits that define the classes, make the objects and use their attributes."""
    edits: list[Edit] = []
    classes: dict[int, str] = {}
    for box, names in boxes:
        at = source.starts[first_line(source, box.at) - 1]
        indent = indentation(source, box.at.lineno)
        edits.append(Edit(at, at, "".join(indent + line + source.newline for line in making(box, names))))
        for node in box.names:
            start, _ = source.span(node)
            edits.append(Edit(start, start, f"{names.variable}."))
        edits += [_declaration(source, box, statement) for statement in box.declarations]
        root = box.helpers[0].root.node
        assert isinstance(root, ast.stmt)
        at_class_place(source, root, _class(box, names, imported), classes)
    add_imports(source, imported, classes)
    return edits + [Edit(at, at, text) for at, text in classes.items()]


def making(box: Box, names: BoxNames) -> list[str]:
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


class _TurnBack(ast.NodeTransformer):
    """Use variables again where attributes of boxes are used; counts them."""

    def __init__(self, boxes: Sequence[tuple[Box, BoxNames]]) -> None:
        self.variables = {names.variable: set(box.variables) for box, names in boxes}
        self.count = 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.variables:
            if node.attr not in self.variables[node.value.id]:
                raise NotProven(f"{node.attr} is no variable of {node.value.id}")
            self.count += 1
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node


def prove_boxes(old: Source, new: Source, boxes: Sequence[tuple[Box, BoxNames]], imported: Imported) -> None:
    """Check that a text is another in which uses of variables became uses of boxes' attributes.

    With the classes, the objects' making and the nonlocal declarations taken out, and attributes used as
    variables again, both trees are equal. So the code differs in this alone: where it loaded or stored a
    cell, it loads the box and loads or stores an attribute of it. That no attribute is read before it is set
    follows from the flow.

    Raises:
        NotProven: if anything differs but that.
    """
    before, tree = ast.parse(old.text), ast.parse(new.text)
    _take_out_making(tree, boxes)
    classes = {names.type_name: _class(box, names, imported) for box, names in boxes}
    seen: list[str] = []

    def added(statement: ast.stmt) -> bool:
        text = ast.unparse(statement)
        if text in imported.missing:
            seen.append(text)
            return True
        if isinstance(statement, ast.ClassDef) and statement.name in classes:
            seen.append(statement.name)
            return ast.dump(statement) == ast.dump(ast.parse("\n".join(classes[statement.name])).body[0])
        return False

    drop_statements(tree, added)
    if sorted(seen) != sorted([*imported.missing, *classes]):
        raise NotProven("a box's class or import is not there once")
    if imported.missing and not set(seen[: len(imported.missing)]) == set(imported.missing):
        raise NotProven("a box's class is defined before what it needs is imported")
    turn = _TurnBack(boxes)
    tree = turn.visit(tree)
    if turn.count != sum(len(box.names) for box, _ in boxes):
        raise NotProven("not every use became one of an attribute")
    places = {
        (statement.lineno, statement.col_offset): box for box, _ in boxes for statement in box.declarations
    }
    for node in list(ast.walk(before)):
        if isinstance(node, ast.Nonlocal) and (box := places.get((node.lineno, node.col_offset))) is not None:
            node.names = [name for name in node.names if name not in box.variables]
    drop_statements(before, lambda s: isinstance(s, ast.Nonlocal) and not s.names)
    for module in (before, tree):
        drop_statements(module, lambda s: isinstance(s, ast.Pass))
    if ast.dump(before) != ast.dump(tree):
        raise NotProven("something besides the uses of boxed variables differs")


def _take_out_making(tree: ast.Module, boxes: Sequence[tuple[Box, BoxNames]]) -> None:
    """Take out the statements that make the objects, which must be the first of their functions."""
    for box, names in boxes:
        assert isinstance(box.outer.node, FUNCTIONS)
        index = box.outer.node.body.index(box.at)
        wanted = making(box, names)
        found = [
            node.body
            for node in ast.walk(tree)
            if isinstance(node, FUNCTIONS)
            and node.name == box.outer.name
            and [ast.unparse(s) for s in node.body[index : index + len(wanted)]] == wanted
        ]
        if len(found) != 1:
            raise NotProven(f"{names.variable} is not made where it should be", None)
        del found[0][index : index + len(wanted)]
