"""What a file defines, piece by piece, without comments, annotations and docstrings."""

from __future__ import annotations

import ast
import dis
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from codemods.review.normal import normalised

Function = ast.FunctionDef | ast.AsyncFunctionDef
MODULE = "<module>"
# Builtins whose answer depends on the module or the frame that they are called in.
PLACED = frozenset(["globals", "locals", "vars", "dir", "eval", "exec", "__import__"])


@dataclass(frozen=True)
class Unit:
    """A function, a method, a class without its methods, or what binds a name of a module.

    `kind` is function, method, class, binding, or statements (those of a module that bind nothing);
    `qualname` is of the file.
    """

    path: str
    kind: str
    qualname: str
    node: ast.Module
    original: tuple[ast.stmt, ...]
    owner: str | None = None
    class_names: frozenset[str] = frozenset()
    called: str = ""

    @property
    def own(self) -> str | None:
        """The name by which it stands in its own text."""
        return None if self.kind == "method" else self.called or self.name

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @cached_property
    def _read(self) -> _Names:
        return _names(compile(self.node, "<unit>", "exec", dont_inherit=True))

    @cached_property
    def free(self) -> frozenset[str]:
        """Names that it reads from its module and nowhere else."""
        return (self._read.globally | (self._read.by_name - self.class_names)) - self._read.local

    @cached_property
    def globals(self) -> tuple[str, ...]:
        """Names that it reads from its module, in the order of the text, its own left out."""
        free = self.free - {self.own} if self.kind in ("function", "class") else self.free
        found = (node.id for node in ast.walk(self.node) if isinstance(node, ast.Name) and node.id in free)
        return tuple(dict.fromkeys(found))

    @cached_property
    def noted(self) -> frozenset[str]:
        """Names that stand in annotations of fields and nowhere else."""
        notes = [node.annotation for node in ast.walk(self.node) if isinstance(node, ast.AnnAssign)]
        if not notes:
            return frozenset()
        inside = [inner.id for note in notes for inner in ast.walk(note) if isinstance(inner, ast.Name)]
        every = Counter(node.id for node in ast.walk(self.node) if isinstance(node, ast.Name))
        return frozenset(name for name, count in Counter(inside).items() if every[name] == count)

    @cached_property
    def mixed(self) -> frozenset[str]:
        """Names that are the module's in one of its scopes, and a local one or its class's in another."""
        read = self._read
        return frozenset((read.globally & read.local) | (read.by_name & (read.local | self.class_names)))

    @cached_property
    def attributes(self) -> Chains:
        """Chains of attributes that it reads from names."""
        return attributes_in(self.node)

    @cached_property
    def text(self) -> str:
        """Everything that it does, with its names as they are."""
        return ast.dump(self.node)

    @cached_property
    def key(self) -> str:
        """What it does, its own name and those of its module as numbers: equal keys, equal instructions."""
        slots = {name: f"<{number}>" for number, name in enumerate(self.globals)}
        if self.kind in ("function", "class") and self.own in self.free:
            slots[self.own or ""] = "<own>"
        parts: list[str] = []
        _write(self.node, slots, self.own, parts)
        mangled = "__" in self.text and self.owner is not None
        return "".join([*parts, *sorted(self.mixed), self.owner if mangled and self.owner else ""])

    @property
    def is_constant(self) -> bool:
        """Is it a name for a number, a text or a tuple of such, which may be said twice?"""
        return self.kind == "binding" and all(
            isinstance(statement, ast.Assign) and is_literal(statement.value) for statement in self.node.body
        )


def is_literal(node: ast.expr) -> bool:
    """Is it a number, a text, or a tuple or sum of such?"""
    plain = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.Load)
    return all(isinstance(part, plain) for part in ast.walk(node))


@dataclass(frozen=True, slots=True)
class _Names:
    """Names that functions look up in their module, those that a module or class looks up, and local ones."""

    globally: frozenset[str]
    by_name: frozenset[str]
    local: frozenset[str]


def _names(code: types.CodeType) -> _Names:
    found: dict[str, set[str]] = {"_GLOBAL": set(), "_NAME": set()}
    for instruction in dis.get_instructions(code):
        for ending, names in found.items():
            if instruction.opname.endswith(ending):
                names.add(instruction.argval)
    made = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return _Names(
        frozenset(found["_GLOBAL"]).union(*(inner.globally for inner in made)),
        frozenset(found["_NAME"]).union(*(inner.by_name for inner in made)),
        frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars)).union(*(n.local for n in made)),
    )


def _write(node: object, slots: dict[str, str], own: str | None, parts: list[str]) -> None:
    if isinstance(node, ast.Name):
        parts.append(f"Name({slots.get(node.id, repr(node.id))},{type(node.ctx).__name__})")
    elif isinstance(node, ast.ImportFrom):
        # Where from is not said by the text alone: a relative import depends on the file.
        parts.append(f"from({[(alias.name, alias.asname) for alias in node.names]})")
    elif isinstance(node, ast.AST):
        parts.append(type(node).__name__ + "(")
        for name, value in ast.iter_fields(node):
            if name == "name" and value == own and isinstance(node, Function | ast.ClassDef):
                parts.append("own")
                own = None
            else:
                _write(value, slots, own, parts)
            parts.append(",")
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _write(item, slots, own, parts)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(f"{type(node).__name__}:{node!r}")


def binders_of(body: Iterable[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Statements by the names that they bind, in the order of the text."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in dict.fromkeys(bound_by(statement)):
            found.setdefault(name, []).append(statement)
    return found


def units_of(path: str, tree: ast.Module, binders: Mapping[str, list[ast.stmt]]) -> Iterator[Unit]:
    """Every unit of a file; methods after their class. ``binders`` are those of its body."""
    for name, statements in binders.items():
        first = statements[0]
        if len(statements) > 1 or not isinstance(first, Function | ast.ClassDef):
            if not any(
                isinstance(node, ast.Import | ast.ImportFrom) or for_types(node) for node in statements
            ):
                body = [normalised(statement) for statement in statements]
                yield Unit(path, "binding", name, _module(body), tuple(statements))
        elif isinstance(first, ast.ClassDef):
            yield from _class(path, first)
        else:
            yield Unit(path, "function", name, _module([normalised(first)]), (first,))
    rest = [node for node in tree.body if not _binds_or_says_nothing(node)]
    if rest:
        yield Unit(path, "statements", MODULE, _module([normalised(node) for node in rest]), tuple(rest))


def _binds_or_says_nothing(node: ast.stmt) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or for_types(node) or isinstance(node, ast.Pass) or any(True for _ in bound_by(node))


def _class(path: str, node: ast.ClassDef) -> Iterator[Unit]:
    methods = [inner for inner in node.body if isinstance(inner, Function)]
    names = [method.name for method in methods]
    single = [method for method in methods if names.count(method.name) == 1]
    # A method stands in its class as a name only: it is a unit of its own.
    header = normalised(node)
    assert isinstance(header, ast.ClassDef)
    header.body = [
        ast.Expr(ast.Constant(f"def {inner.name}"))
        if isinstance(inner, Function) and names.count(inner.name) == 1
        else inner
        for inner in header.body
    ] or [ast.Pass()]
    class_names = frozenset(name for inner in node.body for name in bound_by(inner))
    yield Unit(path, "class", node.name, _module([header]), (node,), None, class_names)
    for method in single:
        qualname = f"{node.name}.{method.name}"
        # Inside a class, so that private names and super() are compiled as they are there.
        shell = ast.ClassDef(
            name=node.name, bases=[], keywords=[], body=[normalised(method)], decorator_list=[]
        )
        if hasattr(node, "type_params"):
            shell.type_params = []  # type: ignore[attr-defined]
        yield Unit(path, "method", qualname, _module([shell]), (method,), node.name, class_names)


def _module(body: list[ast.stmt]) -> ast.Module:
    return ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))


def for_types(node: ast.stmt) -> bool:
    """Is it an `if TYPE_CHECKING:` block, which nothing runs?"""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", "")
    return name == "TYPE_CHECKING"


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds in the scope that it stands in, those in its blocks included."""
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        waiting.extend(ast.iter_child_nodes(node))


def imports_in(
    nodes: Iterable[ast.AST], *, inside_functions: bool = True
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports at any depth of some statements."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif inside_functions or not isinstance(node, Function | ast.Lambda):
            yield from imports_in(ast.iter_child_nodes(node), inside_functions=inside_functions)


Chains = Mapping[str, frozenset[tuple[str, ...]]]


def attributes_in(node: ast.AST) -> Chains:
    """Chains of attributes that are read from names, by name."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Attribute):
            continue
        chain: list[str] = []
        here: ast.AST = inner
        while isinstance(here, ast.Attribute):
            chain.append(here.attr)
            here = here.value
        if isinstance(here, ast.Name):
            found.setdefault(here.id, set()).add(tuple(reversed(chain)))
    return {name: frozenset(chains) for name, chains in found.items()}
