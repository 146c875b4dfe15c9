"""Proof that definitions stand elsewhere, or imports are gone, and that nothing else changed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass

from codemods.equal.code import NotProven, absolute, alike, copied, imported_otherwise, unresolved
from codemods.program.globals import is_type_checking
from codemods.program.imports import bound_name
from codemods.program.nodes import DEFINITIONS
from codemods.program.scopes import ScopeTree
from codemods.program.source import Source
from codemods.program.walk import read_scopes


@dataclass(frozen=True, slots=True)
class Made:
    """A file that got definitions, at its end."""

    source: Source
    module: str
    nodes: Sequence[ast.stmt]


def prove_moved(
    old: Source,
    left: Source,
    made: Sequence[Made],
    names: Mapping[str, str],
    package: str | None,
) -> None:
    """Check that the new files and what is left hold the source's statements, but for imports and names.

    ``names`` are those of the definitions where they went. The tree of what is left is used up.

    Raises:
        NotProven: if anything else differs, or a name is bound nowhere.
    """
    if lost := sorted(unresolved(left) - unresolved(old)):
        raise NotProven(f"{left.path}: {', '.join(lost)} would not be bound any more")
    gone = {node.lineno for each in made for node in each.nodes}
    modules = {each.module for each in made}
    before = [statement for statement in ast.parse(old.text).body if statement.lineno not in gone]
    if not alike(_compared(before, modules, package), _compared(left.tree.body, modules, package)):
        raise NotProven("what is left of the source is not what it was")
    for each in made:
        got = _compared(_renamed(ast.parse(each.source.text), names), (), package)
        wanted = _compared(map(copied, each.nodes), (), package)
        if not alike(got[len(got) - len(wanted) :], wanted):
            raise NotProven(f"{each.source.path}: a definition is not what it was")
        if wrong := imported_otherwise(each.nodes, old, package, each.source, each.module):
            raise NotProven(f"{each.source.path}: {', '.join(wrong)} is imported from elsewhere")
        if lost := sorted(unresolved(each.source)):
            raise NotProven(f"{each.source.path}: {', '.join(lost)} would not be bound")


def _renamed(tree: ast.Module, names: Mapping[str, str]) -> list[ast.stmt]:
    """The statements of a tree with names in their old spelling; ``names`` are new ones."""
    old = {new: name for name, new in names.items()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = old.get(node.id, node.id)
        elif isinstance(node, DEFINITIONS):
            node.name = old.get(node.name, node.name)
    return tree.body


def _compared(
    statements: Iterable[ast.stmt], modules: Collection[str], package: str | None
) -> list[ast.stmt]:
    """Statements with absolute imports, without those of the new modules."""
    found = []
    for statement in statements:
        absolute(statement, package)
        if not (isinstance(statement, ast.ImportFrom) and statement.module in modules):
            found.append(statement)
    return found


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
