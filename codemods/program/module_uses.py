"""Uses of one module's names in one file: those that it asks for, and places that see all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from codemods.program.imports import absolute
from codemods.program.nodes import called_name
from codemods.program.origins import resolve, walk
from codemods.program.repository import File, ModuleName
from codemods.program.source import words

_LISTS = words("dir vars getmembers getmembers_static getclosurevars getsource getsourcelines")
_BY_NAME = words("delattr getattr hasattr setattr")
# What is handed to these is named there, and goes no further.
_KEPT = _LISTS | _BY_NAME | words("id isinstance multiple object print spy stub")
_REFERRING = (ast.Attribute, ast.Call, ast.Name, ast.Subscript)
_STARS = re.compile(r"\bfrom\s+[\w.]*\b(\w+)\s+import\s*\*")


@dataclass(frozen=True, slots=True)
class Look:
    """A place that sees names of the module, or changes one; ``by_name``: it reads one that a run tells."""

    path: str
    line: int
    what: str
    by_name: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


@dataclass(slots=True)
class Seen:
    """Uses of a module's names in one file: those that it surely asks it for, and whether it gives
    the module itself away.
    """

    path: str
    data: bytes
    module: ModuleName
    asked: set[str] = field(default_factory=set)
    escapes: bool = False
    looks: list[Look] = field(default_factory=list)

    def look(self, node: ast.expr, what: str, *, by_name: bool = False) -> None:
        """An expression sees every name of the module."""
        self.looks.append(Look(self.path, node.lineno, what, by_name))

    def is_module(self, path: str | None) -> bool:
        """Tell whether a dotted path leads to the module itself."""
        return path is not None and self.module.within(path) == ""


def uses_in(looking: File, data: bytes, module: ModuleName, *, own: bool = False) -> Seen:
    """Find the uses of a module's names in a file."""
    seen = Seen(looking.shown, data, module)
    values: set[ast.AST] = set()
    for node, scope in walk(looking.tree, looking.package):
        path = resolve(node, scope) if isinstance(node, _REFERRING) else None
        if isinstance(node, (ast.Assign, ast.Attribute, ast.Call)):
            values.update(_followed(node))
        seen.escapes = seen.escapes or (node not in values and seen.is_module(path))
        match node:
            case ast.Name():
                continue
            case ast.Attribute():
                if path is not None and seen.is_module(path.rpartition(".")[0]):
                    seen.asked.add(node.attr)
                    if node.attr == "__dict__":
                        seen.look(node, "looks at its namespace")
            case ast.ImportFrom():
                # One that is run by its path finds what stands beside it without their package.
                beside = f"{looking.package}.{node.module}"
                if seen.is_module(absolute(node, looking.package)) or seen.is_module(beside):
                    seen.asked.update(alias.name for alias in node.names)
            case ast.Constant(value=str() as text) if not own:
                if "*" in text and module.name.rpartition(".")[2] in _STARS.findall(text):
                    seen.asked.add("*")
                if within := module.within(text.replace(":", ".")):
                    seen.asked.add(within.partition(".")[0])
            case ast.Call(args=[first, *_]) if seen.is_module(resolve(first, scope)):
                _call(node, seen)
    return seen


def _call(node: ast.Call, seen: Seen) -> None:
    """Tell whether a call that is handed the module sees names of it."""
    name = called_name(node)
    if name in _LISTS:
        seen.look(node, f"lists its names, or reads its text, by {name}()")
    elif name in _BY_NAME and len(node.args) > 1:
        match node.args[1]:
            case ast.Constant(value=str() as text):
                seen.asked.add(text)
            case _:
                reads = name in ("getattr", "hasattr")
                seen.look(node, "takes names from it that only a run tells", by_name=reads)


def _followed(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that are told by name wherever they go: an attribute's object, what a name is given."""
    match node:
        case ast.Attribute() | ast.Assign(targets=[ast.Name()]):
            if node.value is not None:
                yield node.value
        case ast.Call(args=[first, *_]):
            if called_name(node) in _KEPT:
                yield first
