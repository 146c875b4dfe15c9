"""Scopes of a file, which scope every name in it belongs to, and what a dotted name means there."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar, cast

from codemods.program.imports import imported_path
from codemods.program.nodes import children, own_nodes, walk
from codemods.program.source import Source, blocks_of, statements_in

T = TypeVar("T")
Kind = Literal["module", "function", "lambda", "class", "comprehension", "generator"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False, slots=True)
class Scope:
    """A region with its own names. Comprehensions have no table: their targets are all they own.

    A generator expression that the call around it surely uses up counts as a comprehension.
    """

    kind: Kind
    node: ast.AST
    name: str
    parent: Scope | None
    private: str | None
    names: dict[str, str] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    children: list[Scope] = field(default_factory=list)

    def ancestors(self) -> Iterator[Scope]:
        """This scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def below(self) -> Iterator[Scope]:
        """The scopes in it, outer before inner, in the order of the text."""
        for child in self.children:
            yield child
            yield from child.below()

    def frame(self) -> Scope:
        """The scope whose flow of control this one's code is part of: itself, where its body runs later."""
        frames = ("function", "generator", "lambda", "module")
        return next(scope for scope in self.ancestors() if scope.kind in frames)

    @property
    def space(self) -> Scope:
        """The function, class or module in whose namespace its code runs."""
        return next(s for s in self.ancestors() if s.kind not in ("comprehension", "generator"))

    def inside(self, other: Scope) -> bool:
        """Tell whether it is ``other`` or lies in it."""
        return any(scope is other for scope in self.ancestors())

    @property
    def qualname(self) -> str:
        """As in ``__qualname__``, but without ``<locals>``."""
        return ".".join(reversed([s.name for s in self.ancestors() if s.kind in ("function", "class")]))


@dataclass(eq=False, slots=True)
class Use:
    """One occurrence of a name; one that is not ``written`` is an augmented assignment's own look at it."""

    node: ast.Name
    scope: Scope
    call: ast.Call | None = None
    attribute: str | None = None
    in_text: bool = False
    written: bool = True

    @property
    def position(self) -> tuple[int, int]:
        """Line and column."""
        return self.node.lineno, self.node.col_offset


@dataclass(eq=False, slots=True)
class Binder:
    """One place that binds or unbinds a name; ``scope`` is where it runs, which may not be where the name
    lives.
    """

    node: ast.AST
    scope: Scope
    line: int

    @property
    def deletes(self) -> bool:
        """Tell whether it is a ``del``."""
        return isinstance(self.node, ast.Name) and isinstance(self.node.ctx, ast.Del)


class ScopeTree:
    """Scopes, uses and binders of one file; filled by `codemods.program.walk.read_scopes`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.module = Scope("module", source.tree, "<module>", None, None)
        self.by_node: dict[ast.AST, Scope] = {source.tree: self.module}
        self.uses: dict[tuple[Scope, str], list[Use]] = defaultdict(list)
        self.binders: dict[tuple[Scope, str], list[Binder]] = defaultdict(list)
        self.declared: dict[tuple[Scope, str], list[tuple[ast.Nonlocal | ast.Global, Scope]]] = defaultdict(
            list
        )
        self._facts: dict[str, object] = {}
        self.awaited: set[ast.Call] = set()
        self.yields = False
        self.attributes: dict[str, int] = {}
        self.annotated: list[Use] = []
        # Scopes with type parameters or type aliases, whose names are told of as if there were none.
        self.generic: list[Scope] = []
        self.strings: dict[str, int] = {}
        self.star_imports: list[int] = []

    def once(self, key: str, make: Callable[[], T]) -> T:
        """A fact about the file, worked out when first asked for."""
        if key not in self._facts:
            self._facts[key] = make()
        return cast("T", self._facts[key])

    def owner(self, scope: Scope, name: str) -> Scope:
        """The scope whose variable ``name`` is, seen from ``scope``; globals and builtins belong to the
        module.
        """
        mangled = mangle(name, scope.private)
        current: Scope | None = scope
        direct = True
        while current is not None and current.kind != "module":
            kind = current.names.get(mangled)
            if current.kind != "class" or direct:
                if kind == "local":
                    return current
                if kind == "global":
                    return self.module
            direct = False
            current = current.parent
        return self.module

    def is_builtin(self, scope: Scope, name: str) -> bool:
        """Tell whether a name seen from a scope surely means the builtin of that name."""
        return (
            self.owner(scope, name) is self.module
            and (self.module, name) not in self.binders
            and hasattr(builtins, name)
            and not self.star_imports
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Everything that the file uses, binds or declares as a name, or has as a text."""
        return frozenset(self.strings).union(n for _, n in (*self.uses, *self.binders, *self.declared))

    @cached_property
    def read(self) -> frozenset[str]:
        """Names of the module that its own code reads, declares or states as annotations."""
        found = {use.node.id for use in self.annotated}
        # A class body reads the module's name where it has not bound its own.
        owned = (*self.uses, *self.declared)
        return frozenset(found.union(n for o, n in owned if o is self.module or o.kind == "class"))

    @property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the file."""
        return [self.source.tree, *self.parents]

    @cached_property
    def blocks(self) -> dict[ast.AST, list[ast.stmt]]:
        """The block in which every statement stands."""
        return {
            statement: block
            for node in statements_in(self.source.tree)
            for block in blocks_of(node)
            for statement in block
        }

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around every node."""
        found, waiting = dict[ast.AST, ast.AST](), [cast("ast.AST", self.source.tree)]
        for node in waiting:
            if below := children(node):
                found |= dict.fromkeys(below, node)
                waiting += below
        return found

    def scope_of(self, node: ast.AST) -> Scope:
        """The innermost scope around a node; one a little further out where it makes no difference."""
        around = self.parents.get(node)
        while around is not None and around not in self.by_node:
            around = self.parents.get(around)
        return self.module if around is None else self.by_node[around]

    def values(self, owner: Scope, name: str) -> list[ast.expr | None]:
        """List the values that a variable is given: of a plain assignment its value, None for any other
        binding.
        """
        found: list[ast.expr | None] = []
        for binder in self.binders.get((owner, name), ()):
            match self.parents.get(binder.node):
                case ast.Assign([target], value) if target is binder.node:
                    found.append(value)
                case _:
                    found.append(None)
        return found

    def functions(self, qualname: str) -> list[Scope]:
        """The functions of a qualified name, in the order of the text."""
        return [scope for scope in self.scopes() if scope.kind == "function" and scope.qualname == qualname]

    def scopes(self) -> Iterator[Scope]:
        """All scopes, outer before inner, in the order of the text."""
        yield self.module
        yield from self.module.below()


def is_generator(node: FunctionNode) -> bool:
    """Tell whether calling a function only makes a generator."""
    return any(isinstance(item, (ast.Yield, ast.YieldFrom)) for item in own_nodes(node.body))


def dotted(tree: ScopeTree, scope: Scope, node: ast.expr) -> str | None:
    """The dotted path that an expression names, or None where the program text doesn't say.

    A name counts if each of its bindings is an import of the same thing.
    """
    if isinstance(node, ast.Attribute):
        base = dotted(tree, scope, node.value)
        return None if base is None else f"{base}.{node.attr}"
    if not isinstance(node, ast.Name):
        return None
    owner = tree.owner(scope, node.id)
    binders = tree.binders.get((owner, node.id), [])
    if not binders:
        return f"builtins.{node.id}" if tree.is_builtin(scope, node.id) else None
    paths = {imported_path(binder.node, node.id) for binder in binders}
    return paths.pop() if len(paths) == 1 else None


def mangle(name: str, private: str | None) -> str:
    """A name as the compiler stores it inside a class."""
    if private is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = private.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def private_names(node: ast.AST, private: str | None) -> Iterator[tuple[str, int]]:
    """Identifiers in a tree that mean something else inside a class of some name, with their lines."""
    line = getattr(node, "lineno", 0)
    for inner in walk(node):
        line = getattr(inner, "lineno", line)
        if isinstance(inner, ast.Constant):
            continue
        for value in inner.__dict__.values():
            texts = [value] if type(value) is str else value if type(value) is list else ()
            for text in texts:
                if type(text) is str and mangle(text, private) != text:
                    yield text, line
