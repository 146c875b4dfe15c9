"""Definitions of a project's modules, and where dotted names lead through its imports."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from codemods.program.imports import imports_of
from codemods.program.nodes import DEFINITIONS, children, names_bound, root_of
from codemods.program.repository import module_files
from codemods.program.scopes import ScopeTree
from codemods.program.source import SourceError, blocks_of, shared_source, statements_in

if TYPE_CHECKING:
    from codemods.program.effects import Effects, Meant

_LONGEST_CHAIN = 12

Find = Callable[[str], tuple[bytes, bool] | None]
"""A module of the project by its dotted name: its bytes, and whether it is a package's own file."""


def found_below(bases: Sequence[Path], data: Callable[[Path], bytes | None]) -> Find:
    """Find modules in the first of some folders that has them; ``data`` gives a file's bytes."""

    def find(module: str) -> tuple[bytes, bool] | None:
        for path in module_files(module, dict.fromkeys(bases)):
            if (found := data(path)) is not None:
                return found, path.name == "__init__.py"
        return None

    return find


@dataclass(eq=False)
class Module:
    """One module's text: what binds the names of its top level."""

    name: str
    package: str
    tree: ast.Module
    _paths: dict[str, str | None] = field(default_factory=dict)

    @cached_property
    def binders(self) -> dict[str, list[ast.stmt]]:
        """The statements that bind a name, wherever they stand at the top level."""
        found: dict[str, list[ast.stmt]] = {}
        waiting = list(self.tree.body)
        for statement in waiting:
            for name in bound_by(statement):
                found.setdefault(name, []).append(statement)
            if not isinstance(statement, DEFINITIONS):
                for block in blocks_of(statement):
                    for inner in block:
                        # Handlers and cases count as statements with a block.
                        waiting.append(inner)
        return found

    @cached_property
    def unsure(self) -> frozenset[str]:
        """Names that functions may bind again; ``*`` after a star import."""
        found = set()
        for node in statements_in(self.tree):
            if isinstance(node, ast.Global):
                found.update(node.names)
            elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                found.add("*")
        return frozenset(found)

    def definition(self, name: str) -> ast.stmt | None:
        """The one statement that binds a name."""
        found = self.binders.get(name, [])
        return found[0] if len(found) == 1 and self.unsure.isdisjoint((name, "*")) else None

    def path(self, node: ast.expr) -> str | None:
        """The dotted path of what an expression of the top level names, if imports and definitions tell."""
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            return None if base is None else f"{base}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        if node.id not in self._paths:
            self._paths[node.id] = self._path(node.id)
        return self._paths[node.id]

    def _path(self, name: str) -> str | None:
        statements = self.binders.get(name, [])
        if not self.unsure.isdisjoint((name, "*")):
            return None
        if not statements:
            return f"builtins.{name}" if hasattr(builtins, name) else None
        paths = {self._imported(statement, name) for statement in statements}
        if paths == {None}:
            return f"{self.name}.{name}" if len(statements) == 1 else None
        return paths.pop() if len(paths) == 1 else None

    def _imported(self, statement: ast.stmt, name: str) -> str | None:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None
        return next((made.path for made in imports_of(statement, name, self.package)), None)


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds, those in its blocks left out."""
    if isinstance(statement, DEFINITIONS):
        yield statement.name
        return
    blocks = {inner for block in blocks_of(statement) for inner in block}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield from names_bound(node)
        waiting.extend(child for child in children(node) if child not in blocks)


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a path leads: a module of the project, and a statement of it (none: the module itself).

    ``members`` are what the path asks of it further.
    """

    module: Module
    name: str = ""
    node: ast.stmt | None = None
    members: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The dotted path of the definition itself."""
        return ".".join(filter(None, (self.module.name, self.name)))


class Project:
    """Looks up modules by their dotted names; ``own`` is the file itself, under each of its names."""

    def __init__(self, find: Find, own: Module, names: tuple[str, ...] = ()) -> None:
        self.find = find
        self.own = own
        self._modules: dict[str, Module | None] = dict.fromkeys((own.name, *names), own)
        # The modules of expressions that make classes elsewhere than where these are asked about.
        self._homes: dict[int, Module] = {}

    def module(self, name: str) -> Module | None:
        """A module of the project."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        found = self.find(name)
        if found is None:
            return None
        data, initial = found
        try:
            tree = shared_source(data, name).tree
        except SourceError:
            return None
        return Module(name, name if initial else name.rpartition(".")[0], tree)

    def follow(self, path: str, depth: int = 0) -> Definition | None:
        """The definition that a dotted path leads to, through imports; None outside of the project."""
        parts = path.split(".")
        for at in range(len(parts), 0, -1):
            module = self.module(".".join(parts[:at]))
            if module is None:
                continue
            if at == len(parts):
                return Definition(module)
            node = module.definition(parts[at])
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                further = module.path(ast.Name(parts[at], ast.Load()))
                if further is None or depth > _LONGEST_CHAIN:
                    return None
                return self.follow(".".join((further, *parts[at + 1 :])), depth + 1)
            return None if node is None else Definition(module, parts[at], node, tuple(parts[at + 1 :]))
        return None

    def settled(self, path: str, depth: int = 0) -> str:
        """A path with imports followed as far as the project's text tells."""
        found = self.follow(path)
        if found is not None:
            return ".".join((found.path, *found.members))
        # What a module of the project imports from outside goes by its path there.
        parts = path.split(".")
        module = self.module(".".join(parts[:-1])) if len(parts) > 1 else None
        further = module.path(ast.Name(parts[-1], ast.Load())) if module is not None else None
        if further is None or further == path or depth > _LONGEST_CHAIN:
            return path
        return self.settled(further, depth + 1)

    def effects(self, module: Module, *, annotations: bool = True) -> Effects:
        """Answers for statements of a module; without ``annotations``, those are not evaluated."""
        # Few files are asked about, and it takes long to load.
        from codemods.program.effects import Effects

        return Effects(partial(self._meaning, module), lazy=not annotations)

    def _meaning(self, module: Module, node: ast.expr) -> Meant:
        """The dotted name of something outside the project, or what a name in it stands for."""
        module, root = self._homes.get(id(node), module), root_of(node)
        if not isinstance(root, ast.Name):
            return None
        made = module.binders.get(root.id, ())
        if made and not all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in made):
            return _value(module.definition(root.id), root.id) if root is node else None
        path = module.path(node)
        found = self.follow(path) if path is not None else None
        if found is None:
            return None if path is None else path.removeprefix("builtins.")
        value = None if found.members else _value(found.node, found.name)
        made_of = [value] if isinstance(value, ast.expr) else []
        if isinstance(value, ast.ClassDef):
            # What the file around evaluates to make it, but for its body.
            made_of = [*value.decorator_list, *value.bases, *(keyword.value for keyword in value.keywords)]
        self._homes |= {id(inner): found.module for part in made_of for inner in ast.walk(part)}
        return value


def _value(statement: ast.stmt | None, name: str) -> Meant:
    """Return the definition or expression that a statement binds a name to."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement
        case ast.Assign([ast.Name(id=bound)], value) | ast.AnnAssign(ast.Name(id=bound), value=value):
            return value if bound == name else None
    return None


def effects_of(tree: ScopeTree, *, annotations: bool = True) -> Effects:
    """Answers for a file alone; without ``annotations``, what evaluating them does is left out."""
    evaluated = annotations and "annotations" not in tree.source.future_flags
    own = Module("", "", tree.source.tree)
    project = tree.once("alone", lambda: Project(lambda module: None, own))
    return tree.once(f"effects {evaluated}", lambda: project.effects(project.own, annotations=evaluated))
