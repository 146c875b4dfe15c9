"""Proof that reads of variables became reads of contexts' attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.decide.classes import ClassNames, Imported
from codemods.decide.context import Context
from codemods.facts.source import Source
from codemods.prove.attributes import VariablesBack, take_out_making
from codemods.prove.code import NotProven, drop_statements


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
    types = {names.type_name: context for context, names in contexts}
    made = dict.fromkeys(types, 0)
    lines: dict[str, int] = {}
    for context, names in contexts:
        given = ", ".join(f"{name}={name}" for name, _ in context.fields)
        making = f"{names.variable} = {names.type_name}({given})"
        lines[names.variable] = take_out_making(tree, context.outer, context.at, names.variable, [making])

    def added(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.ImportFrom) and ast.unparse(statement) in imported.missing:
            lines[ast.unparse(statement)] = statement.lineno
            return True
        if isinstance(statement, ast.ClassDef) and statement.name in types:
            made[statement.name] += 1
            lines[statement.name] = statement.lineno
            fields = [s.target.id for s in statement.body if isinstance(s, ast.AnnAssign) and _plain(s)]  # type: ignore[union-attr]
            return sorted(fields) == sorted(name for name, _ in types[statement.name].fields)
        return False

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


def _plain(statement: ast.AnnAssign) -> bool:
    return isinstance(statement.target, ast.Name) and statement.value is None
