"""What is done between the place where a plan's new file is loaded and the place of what moves there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator

from codemods.decide.constants import is_asked, is_value
from codemods.decide.rules.definition import is_constant
from codemods.facts.globals import ImportNode
from codemods.facts.nodes import all_arguments, all_defaults
from codemods.facts.quiet import QUIET
from codemods.facts.scopes import ScopeTree, dotted
from codemods.facts.source import all_blocks

_CATCH = ("BaseException", "Exception", "NameError")
# By these a program changes where modules are looked for.
_PATHS = ("addsitedir", "chdir", "meta_path", "path", "path_hooks")


def undisturbed(tree: ScopeTree, node: ast.stmt, moved: Collection[ast.stmt]) -> bool:
    """Whether nothing is done between the place where the file that a statement moves to is loaded and the
    statement.
    """
    start = _place(tree, moved)
    between = [s for s in tree.source.tree.body if start < s.lineno < node.lineno and s not in moved]
    return all(_is_still(tree, statement) for statement in between)


def imported_alike(tree: ScopeTree, nodes: Collection[ImportNode], moved: Collection[ast.stmt]) -> bool:
    """Whether a new file, loaded by its source alone, would import the same thing as some statements do that
    stand after others which do something: all of it was loaded before, and nothing is done in between.
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
        if isinstance(node, ast.ImportFrom) and not all(_only_loads(tree, s) for s in between):
            return False
    return True


def asked_early(tree: ScopeTree, node: ast.stmt, moved: Collection[ast.stmt]) -> Iterator[ast.Try]:
    """Statements between that catch what a name that is not there yet raises, and run code of the file."""
    start = _place(tree, moved)
    for statement in tree.source.tree.body:
        if isinstance(statement, ast.Try) and start < statement.lineno < node.lineno:
            kinds = [
                part for handler in statement.handlers if handler.type for part in ast.walk(handler.type)
            ]
            bare = any(handler.type is None for handler in statement.handlers)
            caught = bare or any(getattr(kind, "id", "") in _CATCH for kind in kinds)
            read = (
                part for inner in statement.body for part in ast.walk(inner) if isinstance(part, ast.Name)
            )
            if caught and any((tree.module, part.id) in tree.binders for part in read):
                yield statement


def _place(tree: ScopeTree, moved: Collection[ast.stmt]) -> int:
    """The line where the new file is loaded: of the last import before all that is moved."""
    first = min(each.lineno for each in moved)
    body = tree.source.tree.body
    imports = [s.lineno for s in body if s.lineno < first and isinstance(s, (ast.Import, ast.ImportFrom))]
    return max(imports, default=0)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _names(statement: ast.stmt, names: Collection[str]) -> bool:
    """Whether a statement has one of some names, or an attribute of that name."""
    found = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(statement)}
    return not found.isdisjoint(names)


def _only_loads(tree: ScopeTree, statement: ast.stmt) -> bool:
    """Whether a statement only imports, or defines something, under whatever condition that does nothing."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Raise(exc=ast.Name() | None, cause=None):
            return True
        case ast.If(test=test) if not _is_plain(tree, test):
            return False
        case ast.If() | ast.Try():
            return all(_only_loads(tree, inner) for block in all_blocks(statement) for inner in block)
    return _is_still(tree, statement)


def _is_still(tree: ScopeTree, statement: ast.stmt) -> bool:
    """Whether a statement surely only defines or binds something."""
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Assign(targets, value):
            return all(isinstance(target, ast.Name) for target in targets) and _is_plain(tree, value)
        case ast.AnnAssign(ast.Name(), annotation, value):
            return all(_is_plain(tree, part) for part in (annotation, value) if part is not None)
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            arguments = (each.annotation for each in all_arguments(statement.args))
            parts = (*all_defaults(statement.args), *arguments, statement.returns)
            typed = bool(getattr(statement, "type_params", ()))
            return not typed and all(_is_plain(tree, part) for part in parts if part is not None)
        case ast.ClassDef(bases=[], keywords=[], decorator_list=[]):
            return all(_is_still(tree, inner) for inner in statement.body)
    return False


def _is_plain(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether evaluating an expression surely runs no code that is not known."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute():
            top = (dotted(tree, tree.scope_of(node), node) or "").partition(".")[0]
            return top in QUIET or top in ("numpy", "torch")
        case ast.Tuple(parts) | ast.List(parts):
            return all(_is_plain(tree, part) for part in parts)
        case ast.Dict(keys, values):
            known = all(key is not None and is_constant(key) for key in keys)
            return known and all(_is_plain(tree, part) for part in values)
    return is_value(tree, node) or is_asked(tree, node)
