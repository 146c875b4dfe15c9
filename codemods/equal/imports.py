"""Proof that a file without some imports is otherwise the file that it was."""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set
from copy import copy

from codemods.equal.code import NotProven, alike
from codemods.program.globals import is_type_checking
from codemods.program.imports import bound_name
from codemods.program.scopes import ScopeTree
from codemods.program.source import Source
from codemods.program.walk import read_scopes


def prove_dropped(before: Source, after: Source, gone: Set[ast.alias]) -> ScopeTree:
    """Check that a text is another without some names of its imports, and that nothing in it reads them; its
    scopes.

    Raises:
        NotProven: if more has changed, or a name that is gone is read.
    """
    if not alike(without_imports(before.tree.body, gone), after.tree.body):
        raise NotProven(f"{after.path}: more than imports would change")
    tree = read_scopes(after)
    bound = {name for owner, name in tree.binders if owner is tree.module}
    if lost := sorted({bound_name(alias) for alias in gone} & tree.read - bound):
        raise NotProven(f"{after.path}: {', '.join(lost)} would not be bound any more")
    return tree


def without_imports(body: Sequence[ast.stmt], gone: Set[ast.alias]) -> list[ast.stmt]:
    """Statements without some names that they, and blocks for type checkers among them, import.

    An import that has none left goes, and a block that holds nothing else.
    """
    left: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If) and is_type_checking(statement.test):
            block, inner = copy(statement), without_imports(statement.body, gone)
            block.body = inner or [ast.Pass()]
            left += [block] if inner or statement.orelse else []
        elif isinstance(statement, ast.Import | ast.ImportFrom) and not gone.isdisjoint(statement.names):
            made = copy(statement)
            made.names = [alias for alias in statement.names if alias not in gone]
            left += [made] if made.names else []
        else:
            left.append(statement)
    return left
