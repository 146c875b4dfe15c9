"""Collect captures in a frozen dataclass, and let helpers read its attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from codemods.analysis.annotations import stated_annotation
from codemods.analysis.context import Context
from codemods.analysis.lifting import Analysis
from codemods.analysis.source import Source
from codemods.transforms.classes import Imported, add_imports, at_class_place
from codemods.transforms.edits import Edit
from codemods.transforms.items import line_limit
from codemods.transforms.lift import first_line, indentation
from codemods.transforms.proof import FUNCTIONS, NotProven, drop_statements


@dataclass(frozen=True, slots=True)
class ContextNames:
    """What a context's class and variable are called."""

    type_name: str
    variable: str


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


class _TurnBack(ast.NodeTransformer):
    """Read variables again where attributes of contexts are read; counts them."""

    def __init__(self, contexts: Sequence[tuple[Context, ContextNames]]) -> None:
        self.fields = {names.variable: {name for name, _ in context.fields} for context, names in contexts}
        self.count = 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.fields:
            if node.attr not in self.fields[node.value.id] or not isinstance(node.ctx, ast.Load):
                raise NotProven(f"{node.attr} is no field of {node.value.id}")
            self.count += 1
            return ast.copy_location(ast.Name(node.attr, ast.Load()), node)
        return node


def prove_contexts(
    old: Source, new: Source, contexts: Sequence[tuple[Context, ContextNames]], imported: Imported
) -> None:
    """Check that a text is another in which some reads of variables became reads of contexts' attributes.

    The classes' and objects' statements are the ones intended; with them taken out and attributes read as
    variables again, both trees are equal. That the attributes have the variables' values follows from the
    flow: each is bound when the object is made, and not rebound afterwards.

    Raises:
        NotProven: if anything differs but that.
    """
    tree = ast.parse(new.text)
    variables = {names.variable: (context, names) for context, names in contexts}
    types = {names.type_name: context for context, names in contexts}
    made = dict.fromkeys((*variables, *types), 0)
    lines: dict[str, int] = {}

    def added(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.ImportFrom) and ast.unparse(statement) in imported.missing:
            lines[ast.unparse(statement)] = statement.lineno
            return True
        if isinstance(statement, ast.ClassDef) and statement.name in types:
            made[statement.name] += 1
            lines[statement.name] = statement.lineno
            fields = [s.target.id for s in statement.body if isinstance(s, ast.AnnAssign) and _plain(s)]  # type: ignore[union-attr]
            return sorted(fields) == sorted(name for name, _ in types[statement.name].fields)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in variables:
            context, names = variables[target.id]
            made[target.id] += 1
            lines[target.id] = statement.lineno
            given = ", ".join(f"{name}={name}" for name, _ in context.fields)
            wanted = f"{names.variable} = {names.type_name}({given})"
            return ast.unparse(statement) == wanted
        return False

    _prove_places(tree, contexts)
    drop_statements(tree, added)
    if set(made.values()) != {1} or any(line not in lines for line in imported.missing):
        raise NotProven("a context is not made once")
    for name in types:
        if any(lines[line] > lines[name] for line in imported.missing):
            raise NotProven(f"{name} is defined before what it needs is imported")
    for names in (names for _, names in contexts):
        if lines[names.type_name] > lines[names.variable]:
            raise NotProven(f"{names.type_name} is defined too late")
    turn = _TurnBack(contexts)
    tree = turn.visit(tree)
    if turn.count != sum(len(context.reads) for context, _ in contexts):
        raise NotProven("not every read became one of an attribute")
    if ast.dump(tree) != ast.dump(ast.parse(old.text)):
        raise NotProven("something besides the reads of captures differs")


def _prove_places(tree: ast.Module, contexts: Sequence[tuple[Context, ContextNames]]) -> None:
    """Check that each object is made just before the statement at which its fields were found settled."""
    for context, names in contexts:
        assert isinstance(context.outer.node, FUNCTIONS)
        index = context.outer.node.body.index(context.at)
        bodies = [n.body for n in ast.walk(tree) if isinstance(n, FUNCTIONS) and n.name == context.outer.name]
        if not any(
            len(body) > index
            and isinstance(made := body[index], ast.Assign)
            and ast.unparse(made.targets[0]) == names.variable
            for body in bodies
        ):
            raise NotProven(f"{names.variable} is not made where it should be")


def _plain(statement: ast.AnnAssign) -> bool:
    return isinstance(statement.target, ast.Name) and statement.value is None
