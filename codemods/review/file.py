"""A file of a tree, parsed and compiled: what it binds, imports and reads."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import types
import warnings
from collections.abc import Iterable
from functools import cached_property
from typing import TypeGuard

from codemods.program.globals import is_type_checking
from codemods.program.nodes import children
from codemods.program.source import blocks_of, statements_in
from codemods.review.content import (
    Chains,
    Contents,
    Function,
    attributes_in,
    functions_of,
    imports_in,
    may_read_of,
)
from codemods.review.lines import UNKNOWN, Lines, begin
from codemods.review.normal import normalised, written
from codemods.review.reads import read_by
from codemods.review.rebindings import bound_by_text, may_bind_by_text
from codemods.review.units import Unit, binders_of, bound_by, for_types, units_of

# Names of a module that say which module it is.
OF_A_MODULE = frozenset(
    ["__name__", "__file__", "__spec__", "__package__", "__loader__", "__path__", "__doc__"]
)
# What a file says that loads modules by their names, or binds names by what they are called.
_LOADERS = (b"importlib", b"__import__", b"pkgutil", b"runpy", b"exec", b"globals", b"vars(", b"locals")
# Levels of a program, each of which takes several calls inside each other.
_DEEPEST = 1000
_BUILTINS = frozenset(dir(builtins)) - OF_A_MODULE
# Of more than 4,300 decimal digits, which Python refuses to write, and to read where it is decimal.
_HUGE = re.compile(rb"0[xXoObB][0-9a-fA-F_]{3500}")


class File:
    """A file that parses."""

    def __init__(self, path: str, data: bytes, contents: Contents) -> None:
        self.path = path
        self._data, self._contents = data, contents
        if _HUGE.search(data):
            raise ValueError("a number of more digits than Python writes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = contents.trees.of(path, data, self.lines)
            try:
                self._compile()
            except SyntaxError:
                # Of several errors the whole file's first is told, and where it stands in this version.
                compile(ast.parse(data), path, "exec", dont_inherit=True)
                raise
        self.binders = binders_of(self.tree.body)
        self.bound = self.binders.keys()
        self._bindings: dict[str, tuple[str, ...]] = {}
        self._importing = {node for node in self.tree.body if self._may_say(node, "import")}
        body = (node for node in self.tree.body if node in self._importing)
        self.imports = list(imports_in(body, inside_functions=False))

    def _compile(self) -> None:
        """Ask the compiler, which finds more than the parser: of each statement once, on whichever side.

        Only a future import that others stand before, and a `global` of the module, may be wrong by what
        else is there.
        """
        body, known = self.tree.body, self._contents.compiled
        futures = [node for node in body if _is_future(node)]
        docstring = body[:1] if ast.get_docstring(self.tree, clean=False) is not None else []
        if self._declares_globals() or futures != body[len(docstring) :][: len(futures)]:
            self._keep(compile(self.tree, self.path, "exec", dont_inherit=True), body)
            return
        flags = tuple(alias.name for node in futures for alias in node.names)
        fresh = {key: node for node in body if (key := (self.lines.of(node), flags)) not in known}
        part = ast.Module([*futures, *fresh.values()], [])
        self._keep(compile(part, self.path, "exec", dont_inherit=True), fresh.values())
        known.update(fresh)

    def _declares_globals(self) -> bool:
        """Is there a `global` outside of functions and classes?"""
        waiting = [*self.tree.body] if b"global" in self._data or not self._data.isascii() else []
        for node in waiting:
            if not isinstance(node, Function | ast.ClassDef):
                waiting += (inner for block in blocks_of(node) for inner in block)
        return any(isinstance(node, ast.Global) for node in waiting)

    def _keep(self, code: types.CodeType, body: Iterable[ast.stmt]) -> None:
        """Note what functions and classes were compiled to."""
        codes = {(each.co_name, each.co_firstlineno): each for each in functions_of(code)}
        for node in body:
            if isinstance(node, Function | ast.ClassDef) and (node.name, begin(node)[0]) in codes:
                self._contents.codes[self.lines.of(node)] = codes[node.name, begin(node)[0]]

    @cached_property
    def run_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """Imports that run when the file is loaded: not those for type checkers."""
        return [node for statement in self.tree.body for node in self.run_by(statement)]

    def run_by(self, statement: ast.stmt) -> list[ast.Import | ast.ImportFrom]:
        """Those that run with a statement of it."""
        if statement not in self._importing:
            return []
        return list(imports_in([statement], inside_functions=False, for_types=False))

    @property
    def may_read_docstring(self) -> bool:
        """May it ask for its own docstring?"""
        return b"__doc__" in self._data or not self._data.isascii()

    @cached_property
    def loads_by_name(self) -> bool:
        """May it load modules that no import of it says, or bind names that its text does not?"""
        return any(word in self._data for word in _LOADERS)

    @cached_property
    def units(self) -> dict[str, Unit]:
        """Its units by their names."""
        units = units_of(self.path, self.tree, self.binders, self.lines, self._contents)
        return {unit.qualname: unit for unit in units}

    @cached_property
    def imported(self) -> dict[str, list[tuple[ast.Import | ast.ImportFrom, ast.alias]]]:
        """Import statements by the name that they bind."""
        found: dict[str, list[tuple[ast.Import | ast.ImportFrom, ast.alias]]] = {}
        for node in self.imports:
            for alias in node.names:
                found.setdefault(alias.asname or alias.name.partition(".")[0], []).append((node, alias))
        return found

    @cached_property
    def attributes(self) -> Chains:
        """Chains of attributes that it reads from names."""
        return attributes_in(self.tree)

    @cached_property
    def lines(self) -> Lines:
        """The texts of its statements."""
        return Lines(self._data)

    def read_by(self, statement: ast.stmt) -> tuple[str, ...]:
        """Names that a statement of it reads when it runs, and does not bind."""
        key = (self.lines.of(statement), self.lazy_annotations)
        if key not in self._contents.read:
            self._contents.read[key] = read_by(statement, self.lazy_annotations)
        return self._contents.read[key]

    def written(self, statement: ast.stmt) -> str:
        """A statement of it in the one form in which statements are compared."""
        text = self.lines.of(statement)
        if text not in self._contents.written:
            self._contents.written[text] = written(normalised(statement))
        return self._contents.written[text]

    def bindings(self, name: str) -> tuple[str, ...]:
        """Texts of the statements that bind a name."""
        if name not in self._bindings:
            self._bindings[name] = tuple(map(written, self.binders[name]))
        return self._bindings[name]

    def binding_in_order(self, name: str) -> tuple[str, ...]:
        """Texts of the imports that may bind a name, star imports too."""
        nodes = {id(node) for each in ("*", name) for node in self.binders.get(each, ())}
        found = (node for node in self.tree.body if id(node) in nodes)
        return tuple("" if isinstance(node, Function | ast.ClassDef) else written(node) for node in found)

    @cached_property
    def conditions_for_types(self) -> list[ast.If]:
        """Blocks that are taken for what type checkers alone read."""
        if b"TYPE_CHECKING" not in self._data and self._data.isascii():
            return []
        body = (node for node in self.tree.body if self._may_say(node, "TYPE_CHECKING"))
        nodes = (node for top in body for node in statements_in(top) if isinstance(node, ast.If))
        return [node for node in nodes if is_type_checking(node.test)]

    def may_hold(self, name: str) -> bool:
        """May a name be in it?"""
        return name.encode() in self._data or not self._data.isascii()

    def may_read_of(self, name: str) -> frozenset[tuple[str, ...]] | None:
        """Chains of attributes that it may read from a name; None if that can't be told."""
        return may_read_of(name, self._data.decode()) if self._data.isascii() else None

    def _may_say(self, statement: ast.stmt, word: str) -> bool:
        text = self.lines.of(statement)
        return word in text or UNKNOWN in text or not text.isascii()

    @cached_property
    def typed(self) -> frozenset[str]:
        """Names that are bound for type checkers only."""
        return frozenset(name for name, nodes in self.binders.items() if all(map(for_types, nodes)))

    @cached_property
    def bound_again(self) -> frozenset[str]:
        """Names that several statements of the module bind, or a function, or that are builtins before."""
        several = frozenset(name for name, nodes in self.binders.items() if len(nodes) > 1)
        return several | self.rebound | self.shadowing

    @cached_property
    def shadowing(self) -> frozenset[str]:
        """Names that it binds, and that are builtins until then."""
        return frozenset(_BUILTINS & self.bound) - self.typed

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Names of the module that functions bind."""
        if b"global" not in self._data and self._data.isascii():
            return frozenset()
        body = (node for node in self.tree.body if self._may_say(node, "global"))
        nodes = (node for top in body for node in statements_in(top) if isinstance(node, ast.Global))
        return frozenset(name for node in nodes for name in node.names)

    @cached_property
    def bound_by_text(self) -> frozenset[str] | None:
        """Names of the module that its code binds by what they are called; None if it may be any."""
        return bound_by_text(self.tree) if may_bind_by_text(self._data) else frozenset()

    @cached_property
    def listed(self) -> frozenset[str] | None:
        """The names in its `__all__`, where that is a literal list which is bound once."""
        values = [n.value for n in self.tree.body if isinstance(n, ast.Assign) and "__all__" in bound_by(n)]
        if (
            len(values) == 1
            and "__all__" not in self.bound_again
            and isinstance(values[0], ast.List | ast.Tuple)
        ):
            items = values[0].elts
            if all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in items):
                return frozenset(ast.literal_eval(values[0]))
        return None

    @cached_property
    def exported(self) -> frozenset[str]:
        """Names that a star import of it may bring."""
        if self.listed is not None:
            return self.listed
        return frozenset(name for name in self.bound if not name.startswith("_") or "__all__" in self.bound)

    @cached_property
    def lazy_annotations(self) -> bool:
        """Are annotations not worked out when functions are defined?"""
        return sys.version_info >= (3, 14) or any(
            alias.name == "annotations"
            for node in self.imports
            for alias in node.names
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        )

    def only_imports(self, name: str) -> bool:
        """Is an import at the top level all that binds a name?"""
        binding = self.binders.get(name, ())
        return all(isinstance(node, ast.Import | ast.ImportFrom) or for_types(node) for node in binding)


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level


def is_too_deep(tree: ast.Module) -> bool:
    """Tell whether nodes of a tree are inside each other on more levels than calls can go down."""
    level, count = [*children(tree)], 1
    while level:
        level, count = [inner for node in level for inner in children(node)], count + 1
    return count > _DEEPEST
