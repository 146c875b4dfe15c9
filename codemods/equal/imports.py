"""Proof that a file without some imports is otherwise the file that it was."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.equal.code import NotProven, alike, copied
from codemods.program.globals import is_type_checking
from codemods.program.imports import bound_name
from codemods.program.source import Source
from codemods.program.walk import read_scopes

_IMPORTS = (ast.Import, ast.ImportFrom)


def prove_dropped(before: Source, after: Source) -> None:
    """Check that a text is another without some imports, and that nothing in it reads their names.

    Raises:
        NotProven: if more has changed, or a name that is gone is read.
    """
    gone: list[ast.alias] = []
    if not _thinned(before.tree.body, after.tree.body, gone):
        raise NotProven(f"{after.path}: more than imports would change")
    tree = read_scopes(after)
    bound = {name for owner, name in tree.binders if owner is tree.module}
    read = {use.node.id for use in tree.annotated}
    # A class body reads the module's name where it has not bound its own.
    read |= {n for owner, n in (*tree.uses, *tree.declared) if owner is tree.module or owner.kind == "class"}
    if lost := sorted({bound_name(alias) for alias in gone} & read - bound):
        raise NotProven(f"{after.path}: {', '.join(lost)} would not be bound any more")


def _thinned(before: Sequence[ast.stmt], after: Sequence[ast.stmt], gone: list[ast.alias]) -> bool:
    """Match statements with those of which some imports are gone, and collect these."""
    left = list(after)
    for statement in before:
        there = left[0] if left else None
        if there is not None and alike(statement, there):
            left.pop(0)
        elif isinstance(statement, _IMPORTS) and not _is_future(statement):
            gone += statement.names
            if there is not None and (kept := _kept(statement, there)) is not None:
                left.pop(0)
                for alias in kept:
                    gone.remove(alias)
        elif isinstance(statement, ast.If) and is_type_checking(statement.test):
            if isinstance(there, ast.If) and _same_block(statement, there, gone):
                left.pop(0)
            elif statement.orelse or not _thinned(statement.body, (), gone):
                return False
        else:
            return False
    return not left


def _same_block(one: ast.If, other: ast.If, gone: list[ast.alias]) -> bool:
    """Match two blocks for type checkers, of which the other may have lost imports."""
    if not alike([one.test, one.orelse], [other.test, other.orelse]):
        return False
    if any(isinstance(statement, ast.Pass) for statement in other.body):
        return _thinned(one.body, (), gone)
    return _thinned(one.body, other.body, gone)


def _kept(statement: ast.Import | ast.ImportFrom, there: ast.stmt) -> list[ast.alias] | None:
    """The names that are left of an import statement in another; None if that is none of it."""
    if not isinstance(there, type(statement)):
        return None
    assert isinstance(there, _IMPORTS)
    shell = copied(statement)
    shell.names = there.names
    if not alike(shell, there):
        return None
    waiting, kept = iter(statement.names), []
    for alias in there.names:
        found = next((other for other in waiting if alike(other, alias)), None)
        if found is None:
            return None
        kept.append(found)
    return kept


def _is_future(statement: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
