"""What the names in a file refer to beyond it: imports and their aliases, followed through scopes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from codemods.program.imports import Import, imported_module, imports_in
from codemods.program.nodes import DEFINITIONS, all_arguments, called_name, children, names_bound
from codemods.program.nodes import walk as nodes_in

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_IMPORTERS = {"importlib.import_module", "pytest.importorskip"}
_BINDING = frozenset(
    [
        *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Global, ast.ExceptHandler),
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchMapping, ast.MatchStar),
    ]
)
_DEPTH = 8


@dataclass(eq=False, slots=True)
class Names:
    """The names of one scope, by what binds them: an import, assignments, or anything else; a file's own
    has those that functions declare global.
    """

    node: ast.AST
    parent: Names | None
    function: str
    imports: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)

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


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that a ``from`` import names; outside of a package, as if that were the package's folder."""
    return imported_module(node, package).lstrip(".")


def imported(node: ast.Import | ast.ImportFrom, package: str) -> list[Import]:
    """What a statement of a file imports; outside of a package, as if that were the package's folder."""
    return [replace(made, module=made.module.lstrip(".")) for made in imports_in(node, package)]


@functools.lru_cache(maxsize=128)
def walk(tree: ast.Module, package: str) -> list[tuple[ast.AST, Names]]:
    """Every node with the scope that it is evaluated in, in the order of the tree.

    Decorators and defaults see the scope around their function; ``function`` names the one they belong to.
    """
    found: list[tuple[ast.AST, Names]] = []
    scopes = [Names(tree, None, "")]
    assigned: set[ast.AST] = set()
    # With each node the scope whose names it binds, if it is evaluated in one.
    stack: list[tuple[ast.AST, Names, bool]] = [(tree, scopes[0], True)]
    while stack:
        node, scope, binds = stack.pop()
        found.append((node, scope))
        kind = type(node)
        if kind is ast.Constant:
            continue
        if isinstance(node, ast.Name):
            if binds and node not in assigned and not isinstance(node.ctx, ast.Load):
                scope.others.add(node.id)
            continue
        if binds and kind in _BINDING:
            _bind(node, scope, package, assigned)
        below = children(node)
        below.reverse()
        if isinstance(node, DEFINITIONS):
            qualname = f"{scope.function}.{node.name}" if scope.function else node.name
            inner = Names(node, scope, qualname)
            if not isinstance(node, ast.ClassDef):
                inner.others.update(argument.arg for argument in all_arguments(node.args))
            scopes.append(inner)
            outside = Names(node, scope, qualname)
            body = set(map(id, node.body))
            stack += [(child, *((inner, True) if id(child) in body else (outside, False))) for child in below]
        elif isinstance(node, ast.Lambda):
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
            names.top().declared.update(node.names)
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
            return single(node.args[0], scope)
        return None
    if isinstance(node, ast.Subscript) and resolve(node.value, scope, depth - 1) == "sys.modules":
        return single(node.slice, scope)
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


def single(node: ast.expr, scope: Names) -> str | None:
    """The one string that an expression can be."""
    found = strings(node, scope)
    return found[0] if found is not None and len(found) == 1 else None


def strings(node: ast.expr, scope: Names, depth: int = _DEPTH) -> tuple[str, ...] | None:
    """The strings that an expression can be, as far as literals and loops over them tell."""
    if depth == 0:
        return None
    match node:
        case ast.Constant(str(text)):
            return (text,)
        case ast.JoinedStr(parts):
            return _product([strings(part, scope, depth) for part in parts])
        case ast.FormattedValue(value, -1, None):
            return strings(value, scope, depth - 1)
        case ast.BinOp(left, ast.Add(), right):
            return _product([strings(left, scope, depth - 1), strings(right, scope, depth - 1)])
        case ast.Attribute(value, "__name__"):
            module = resolve(value, scope)
            return None if module is None else (module,)
        case ast.Name(name):
            if (given := scope.assigned(name)) is not None:
                return strings(*given, depth - 1)
            if (owner := scope.owner(name)) is not None:
                return _varying(name, owner, depth)
    return None


def _product(parts: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Every concatenation of one string of each part."""
    made: list[str] = [""]
    for part in parts:
        if part is None:
            return None
        made = [before + after for before in made for after in part]
    return tuple(dict.fromkeys(made))


def _varying(name: str, owner: Names, depth: int) -> tuple[str, ...] | None:
    """The strings that loops over literals, ``parametrize`` or the calls in the file give to a name."""
    loops = (node for node in nodes_in(owner.node) if isinstance(node, (ast.For, ast.comprehension)))
    values = [(value, owner) for n in loops for value in _unpacked(n.target, n.iter, name, owner)]
    if not values and isinstance(owner.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        values = list(_given(name, owner.node, owner))
    found: dict[str, None] = {}
    for value, where in values:
        texts = strings(value, where, depth - 1)
        if texts is None:
            return None
        found |= dict.fromkeys(texts)
    return tuple(found) if values else None


def _unpacked(target: ast.expr, values: ast.expr, name: str, scope: Names) -> Iterator[ast.expr]:
    """What iterating over a literal collection assigns to a name in a loop's target."""
    if isinstance(values, ast.Name):
        values = (scope.assigned(values.id) or (values,))[0]
    if isinstance(values, ast.Dict):
        values = ast.List([key for key in values.keys if key is not None])
    if not isinstance(values, (ast.Tuple, ast.List, ast.Set)):
        return
    if isinstance(target, ast.Name):
        if target.id == name:
            yield from (_parameter(value) for value in values.elts)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, element in enumerate(target.elts):
            if isinstance(element, ast.Name) and element.id == name:
                for value in values.elts:
                    value = _parameter(value)
                    if isinstance(value, (ast.Tuple, ast.List)) and index < len(value.elts):
                        yield value.elts[index]
                    elif isinstance(value, ast.Call) and index < len(value.args):
                        yield value.args[index]


def _parameter(value: ast.expr) -> ast.expr:
    """The one argument of a ``pytest.param``, or the value itself."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "param":
        return value.args[0] if len(value.args) == 1 else value
    return value


def _given(name: str, function: FunctionNode, scope: Names) -> Iterator[tuple[ast.expr, Names]]:
    """What ``parametrize`` and the calls in the same file pass for a function's parameter."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(ast.Attribute(attr="parametrize"), [named, given, *_]):
                names = [part.strip() for text in strings(named, scope) or () for part in text.split(",")]
                if name in names:
                    plain = [ast.Name(part) for part in names]
                    target: ast.expr = plain[0] if len(plain) == 1 else ast.Tuple(list(plain))
                    yield from ((value, scope) for value in _unpacked(target, given, name, scope))
    positions = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    for node in nodes_in(scope.top().node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function.name:
            if name in positions and positions.index(name) < len(node.args):
                yield node.args[positions.index(name)], scope.top()
            yield from ((keyword.value, scope.top()) for keyword in node.keywords if keyword.arg == name)


def imports_any(node: ast.Call) -> bool:
    """Whether a call imports a module that only a run tells."""
    return called_name(node) in ("__import__", "import_module", "locate", "resolve_name") and not (
        node.args and isinstance(node.args[0], ast.Constant)
    )


def takes_any(node: ast.Call, scope: Names) -> bool:
    """Whether a call takes an attribute whose name only a run tells, or looks up a dotted path.

    A module's ``__getattr__`` takes what its module is asked for, and that is spelled where it is asked.
    """
    if called_name(node) in ("locate", "resolve_name"):
        return True
    if scope.function == "__getattr__":
        return False
    return (
        called_name(node) == "getattr" and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)
    )
