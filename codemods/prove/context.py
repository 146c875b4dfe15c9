"""Proof that reads of variables became reads of contexts' attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.decide.classes import ClassNames, Imported
from codemods.decide.context import Context
from codemods.facts.source import Source
from codemods.prove.attributes import VariablesBack
from codemods.prove.code import FUNCTIONS, NotProven, drop_statements


def prove_contexts(
    old: Source, new: Source, contexts: Sequence[tuple[Context, ClassNames]], imported: Imported
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
    turn = VariablesBack(
        {names.variable: {name for name, _ in context.fields} for context, names in contexts}, stored=False
    )
    tree = turn.visit(tree)
    if turn.count != sum(len(context.reads) for context, _ in contexts):
        raise NotProven("not every read became one of an attribute")
    if ast.dump(tree) != ast.dump(ast.parse(old.text)):
        raise NotProven("something besides the reads of captures differs")


def _prove_places(tree: ast.Module, contexts: Sequence[tuple[Context, ClassNames]]) -> None:
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
