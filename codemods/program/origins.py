"""References of a file's names beyond it: imports and their aliases, followed through scopes."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field, replace
from typing import Any

from codemods.program.imports import Import, imports_in
from codemods.program.nodes import ANY_NAME, DEFINITIONS, all_arguments, children, names_bound

_IMPORTERS = {"importlib.import_module", "pytest.importorskip"}
_BINDING = frozenset(
    [
        *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Global, ast.ExceptHandler),
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchMapping, ast.MatchStar),
    ]
)
# The kinds of nodes by which something may be referred to.
_TOLD = frozenset(
    [
        *(ast.Assign, ast.Attribute, ast.Call, ast.Constant, ast.ImportFrom),
        *(ast.List, ast.Name, ast.Set, ast.Subscript, ast.Tuple),
    ]
)
_DEPTH = 8


@dataclass(eq=False, slots=True)
class Names:
    """The names of one scope, by what binds them: an import, assignments, or anything else."""

    node: ast.AST
    parent: Names | None
    function: str
    imports: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)

    def owner(self, name: str) -> Names | None:
        """The scope that binds a name; class bodies are seen only from directly inside."""
        scope: Names | None = self
        while scope is not None:
            visible = scope is self or not isinstance(scope.node, ast.ClassDef)
            if visible and (name in scope.imports or name in scope.values or name in scope.others):
                return scope
            scope = scope.parent
        return None

    def assigned(self, name: str) -> tuple[ast.expr, Names] | None:
        """The one value that a name is given, and the scope in which that is."""
        owner = self.owner(name)
        if owner is None or name not in owner.values or name in owner.others:
            return None
        return owner.values[name][0], owner

    def top(self) -> Names:
        """The file's own scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


def imported(node: ast.Import | ast.ImportFrom, package: str) -> list[Import]:
    """List the imports of a file's statement; outside of a package, as if that were the package's folder."""
    return [replace(made, module=made.module.lstrip(".")) for made in imports_in(node, package)]


@functools.lru_cache(maxsize=128)
def walk(tree: ast.Module, package: str) -> list[tuple[ast.AST, Names]]:
    """Every node that may refer to something, with the scope that it is evaluated in, in the order of the
    tree.

    Decorators and defaults see the scope around their function; ``function`` names the one they belong to.
    """
    found: list[tuple[ast.AST, Names]] = []
    scopes = [Names(tree, None, "")]
    assigned: set[ast.AST] = set()
    # With each node the scope whose names it binds, if it is evaluated in one.
    stack: list[tuple[Any, Names, bool]] = [(tree, scopes[0], True)]
    while stack:
        node, scope, binds = stack.pop()
        kind = type(node)
        if kind in _TOLD:
            found.append((node, scope))
        if kind is ast.Constant:
            continue
        if kind is ast.Name:
            if binds and node not in assigned and not isinstance(node.ctx, ast.Load):
                scope.others.add(node.id)
            continue
        if binds and kind in _BINDING:
            _bind(node, scope, package, assigned)
        below = children(node)
        below.reverse()
        if kind in DEFINITIONS:
            qualname = f"{scope.function}.{node.name}" if scope.function else node.name
            inner = Names(node, scope, qualname)
            if kind is not ast.ClassDef:
                inner.others.update(argument.arg for argument in all_arguments(node.args))
            scopes.append(inner)
            outside = Names(node, scope, qualname)
            body = set(map(id, node.body))
            stack += [(child, *((inner, True) if id(child) in body else (outside, False))) for child in below]
        elif kind is ast.Lambda:
            given = {argument.arg for argument in all_arguments(node.args)}
            inner = Names(node, scope, scope.function, others=given)
            stack += [(child, inner, False) for child in below]
        else:
            stack += [(child, scope, binds) for child in below]
    for scope in scopes:
        scope.others.update(name for name, values in scope.values.items() if len(values) != 1)
    return found


def _bind(node: ast.AST, names: Names, package: str, assigned: set[ast.AST]) -> None:
    match node:
        case ast.Import() | ast.ImportFrom():
            for made in imported(node, package):
                if made.name == "*":
                    names.stars.append(made.module)
                else:
                    names.imports[made.bound] = made.path
        case (
            ast.Assign(targets=[ast.Name() as target], value=value)
            | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
        ):
            assigned.add(target)
            names.values.setdefault(target.id, []).append(value)
        case ast.Global():
            names.others.difference_update(node.names)
        case _:
            names.others.update(names_bound(node))


def resolve(node: ast.expr, scope: Names, depth: int = _DEPTH) -> str | None:
    """The dotted name of what an expression refers to, if imports and single assignments tell; else None.

    A name that a star import may supply counts as that module's.
    """
    if depth == 0:
        return None
    if isinstance(node, ast.Attribute):
        base = resolve(node.value, scope, depth - 1)
        return None if base is None else f"{base}.{node.attr}"
    if isinstance(node, ast.Call) and node.args:
        if resolve(node.func, scope, depth - 1) in _IMPORTERS:
            return text_of(node.args[0], scope)
        return None
    if isinstance(node, ast.Subscript) and resolve(node.value, scope, depth - 1) == "sys.modules":
        return text_of(node.slice, scope)
    if not isinstance(node, ast.Name):
        return None
    owner = scope.owner(node.id)
    if owner is None:
        stars = scope.top().stars
        return f"{stars[-1]}.{node.id}" if stars else None
    if node.id in owner.imports:
        return owner.imports[node.id]
    if node.id not in owner.others:
        return resolve(owner.values[node.id][0], owner, depth - 1)
    return None


def text_of(node: ast.expr, scope: Names, depth: int = _DEPTH) -> str | None:
    """The string that an expression is, as far as literals and single assignments tell."""
    if depth == 0:
        return None
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(text_of(part, scope, depth - 1) or ANY_NAME for part in parts)
        case ast.FormattedValue(value, -1, None):
            return text_of(value, scope, depth - 1)
        case ast.BinOp(left, ast.Add(), right):
            found = [text_of(part, scope, depth - 1) for part in (left, right)]
            return "".join(part or ANY_NAME for part in found) if any(found) else None
        case ast.Attribute(value, "__name__"):
            return resolve(value, scope)
        case ast.Name(name) if (given := scope.assigned(name)) is not None:
            return text_of(*given, depth - 1)
    return None
