"""Proof that uses of variables became uses of objects' attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codemods.equal.code import FUNCTIONS, NotProven, alike, copied, drop_statements
from codemods.program.source import Source
from codemods.rewrites.objects.classes import ClassNames, Imported, Kept, Objects


def prove_objects(old: Source, new: Source, objects: Objects, imported: Imported) -> None:
    """Check that a text is another in which uses of variables became uses of objects' attributes.

    With the classes, the objects' making and the nonlocal declarations taken out, and attributes used as
    variables again, both trees are equal. So the code differs in this alone: where it loaded or stored a
    variable, it loads the object and loads or stores an attribute of it. That no attribute is read before it
    is set, and that those of a frozen object have the variables' values, follows from the flow.

    Raises:
        NotProven: if anything differs but that.
    """
    before, tree = ast.parse(old.text), ast.parse(new.text)
    lines = {names.variable: _take_out_making(tree, kept, names) for kept, names in objects}
    classes = {names.type_name: (kept, names) for kept, names in objects}
    seen: list[str] = []

    def added(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.ImportFrom) and ast.unparse(statement) in imported.missing:
            seen.append(ast.unparse(statement))
        elif isinstance(statement, ast.ClassDef) and statement.name in classes:
            if not _is_class(statement, *classes[statement.name], imported):
                raise NotProven(f"{statement.name} is not the class that it should be")
            seen.append(statement.name)
        else:
            return False
        lines[seen[-1]] = statement.lineno
        return True

    drop_statements(tree, added)
    if sorted(seen) != sorted([*imported.missing, *classes]):
        raise NotProven("an object's class or import is not there once")
    for _, names in objects:
        if any(lines[text] > lines[names.type_name] for text in imported.missing):
            raise NotProven(f"{names.type_name} is defined before what it needs is imported")
        if lines[names.type_name] > lines[names.variable]:
            raise NotProven(f"{names.type_name} is defined too late")
    turn = _VariablesBack({names.variable: kept for kept, names in objects})
    tree = turn.visit(tree)
    if turn.count != sum(len(kept.names) for kept, _ in objects):
        raise NotProven("not every use became one of an attribute")
    held = {(s.lineno, s.col_offset): kept.variables for kept, _ in objects for s in kept.declarations}
    if held:
        for node in ast.walk(before):
            if isinstance(node, ast.Nonlocal):
                gone = held.get((node.lineno, node.col_offset), ())
                node.names = [name for name in node.names if name not in gone]
        drop_statements(before, lambda s: isinstance(s, ast.Nonlocal) and not s.names)
        for module in (before, tree):
            drop_statements(module, lambda s: isinstance(s, ast.Pass))
    if not alike(before, tree):
        raise NotProven("something besides the uses of variables differs")


def _take_out_making(tree: ast.Module, kept: Kept, names: ClassNames) -> int:
    """Take out the statements that make an object just before a statement of its function; their line.

    A parameter's value that may be replaced is then the object's alone.
    """
    assert isinstance(kept.outer.node, FUNCTIONS)
    wanted = [f"{names.variable} = {names.type_name}({', '.join(f'{n}={n}' for n in kept.given)})"]
    if kept.given and not kept.frozen:
        wanted.append(f"del {', '.join(kept.given)}")
    index = kept.outer.node.body.index(kept.at)
    made = slice(index, index + len(wanted))
    found = [
        node.body
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        and node.name == kept.outer.name
        and [ast.unparse(statement) for statement in node.body[made]] == wanted
    ]
    if len(found) != 1:
        raise NotProven(f"{names.variable} is not made where it should be")
    line = found[0][index].lineno
    del found[0][made]
    return line


def _is_class(made: ast.ClassDef, kept: Kept, names: ClassNames, imported: Imported) -> bool:
    """Whether a class has the fields of an object, and nothing else but a docstring; what annotations say of
    a frozen one's fields, nobody evaluates.
    """
    kinds = imported.names
    fields = [f"    {name}: {kinds['Any']}" for name in kept.given]
    fields += [f"    {name}: {kinds['Any']} = {kinds['field']}(init=False)" for name in kept.later]
    frozen = "frozen=True, " if kept.frozen else ""
    head = f"@{kinds['dataclass']}({frozen}slots=True)\nclass {names.type_name}:"
    wanted = ast.parse("\n".join([head, *fields])).body[0]
    made = copied(made)
    assert isinstance(wanted, ast.ClassDef)
    documented = ast.get_docstring(made) is not None
    del made.body[: int(documented)]
    for one, other in zip(made.body, wanted.body, strict=False):
        if kept.frozen and isinstance(one, ast.AnnAssign) and isinstance(other, ast.AnnAssign):
            other.annotation = one.annotation
    return documented and alike(made, wanted)


class _VariablesBack(ast.NodeTransformer):
    """Use variables again where attributes of objects are used; counts them."""

    def __init__(self, objects: Mapping[str, Kept]) -> None:
        """``objects`` by the names of their variables."""
        self.objects = objects
        self.count = 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        kept = self.objects.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if kept is None:
            return node
        if node.attr not in kept.variables or (kept.frozen and not isinstance(node.ctx, ast.Load)):
            raise NotProven(f"{node.attr} is no variable of {ast.unparse(node.value)}")
        self.count += 1
        return ast.copy_location(ast.Name(node.attr, node.ctx), node)
