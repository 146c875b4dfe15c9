"""Effects between the place where a plan's new file is loaded and the place of what moves there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection
from itertools import chain

from codemods.program.globals import ImportNode
from codemods.program.modules import effects_of
from codemods.program.scopes import ScopeTree
from codemods.program.source import all_blocks

_FAILED = ("ImportError", "ModuleNotFoundError")
# By these a program changes where modules are looked for.
_PATHS = ("addsitedir", "chdir", "meta_path", "path", "path_hooks")


def undisturbed(tree: ScopeTree, node: ast.stmt, moved: Collection[ast.stmt]) -> bool:
    """Tell whether nothing is done between the place where the file that a statement moves to is loaded and
    the statement.
    """
    start = _place(tree, moved)
    between = [s for s in tree.source.tree.body if start < s.lineno < node.lineno and s not in moved]
    return not effects_of(tree).runs(between)


def imported_alike(tree: ScopeTree, nodes: Collection[ImportNode], moved: Collection[ast.stmt]) -> bool:
    """Tell whether a new file, loaded by its source alone, would import the same thing as some statements do
    that stand after others which do something: all of it was loaded before, and nothing is done in between.
    """
    start = _place(tree, moved)
    body = tree.source.tree.body
    if any(s.lineno <= start and _names(s, ["modules"]) for s in body):
        return False
    for node in nodes:
        if node.lineno > start or node not in body:
            return False
        before = [s for s in body if s.lineno < node.lineno]
        own = isinstance(node, ast.ImportFrom) and (node.level or not _is_standard(node.module or ""))
        own = own or (isinstance(node, ast.Import) and not all(_is_standard(a.name) for a in node.names))
        if own and any(_names(statement, _PATHS) for statement in before):
            return False
        between = [s for s in body if node.lineno < s.lineno <= start]
        if isinstance(node, ast.ImportFrom) and effects_of(tree).runs(between, imports=False):
            return False
    return True


def tried_early(tree: ScopeTree, node: ast.stmt, moved: Collection[ast.stmt]) -> list[ast.Try]:
    """Statements between that catch more than a failed import: that a name is not there yet, perhaps."""
    start = _place(tree, moved)
    tried = [s for s in tree.source.tree.body if isinstance(s, ast.Try) and start < s.lineno < node.lineno]
    wide = [s for s in tried if any(h.type is None or ast.unparse(h.type) not in _FAILED for h in s.handlers)]
    return [s for s in wide if not _imports_others(s)]


def _imports_others(tried: ast.Try) -> bool:
    """Tell whether a statement only imports modules of the standard library or of torch."""
    for statement in chain(*all_blocks(tried)):
        match statement:
            case ast.Import(names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str() as module, level=0):
                modules = [module]
            case _:
                return False
        if not all(_is_standard(each) or each.partition(".")[0] == "torch" for each in modules):
            return False
    return True


def _place(tree: ScopeTree, moved: Collection[ast.stmt]) -> int:
    """The line where the new file is loaded: of the last import before all that is moved."""
    first = min(each.lineno for each in moved)
    body = tree.source.tree.body
    imports = [s.lineno for s in body if s.lineno < first and isinstance(s, (ast.Import, ast.ImportFrom))]
    return max(imports, default=0)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _names(statement: ast.stmt, names: Collection[str]) -> bool:
    """Tell whether a statement has one of some names, or an attribute of that name."""
    found = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(statement)}
    return not found.isdisjoint(names)
