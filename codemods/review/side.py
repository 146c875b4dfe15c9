"""One side of a change: its units, and what each name of a module stands for."""

from __future__ import annotations

import ast
import builtins
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from codemods.facts.globals import is_type_checking
from codemods.facts.nodes import first_of
from codemods.facts.source import blocks_of, statements_in
from codemods.review.content import Chains, Contents, Function, attributes_in, functions_of, imports_in
from codemods.review.lines import Lines, begin
from codemods.review.namespace import Replacements
from codemods.review.normal import normalised, written
from codemods.review.reads import read_by
from codemods.review.trees import Tree, below
from codemods.review.units import (
    PLACED,
    Unit,
    binders_of,
    bound_by,
    for_types,
    units_of,
)

# Names of a module that say which module it is.
OF_A_MODULE = frozenset(
    ["__name__", "__file__", "__spec__", "__package__", "__loader__", "__path__", "__doc__"]
)
_LONGEST_CHAIN = 20
_TYPING = ("typing", "typing_extensions")
# What a name is worth that is bound to it once: `TYPE_CHECKING = False` saves an import.
_FALSE = repr([written(ast.Constant(False))])


@dataclass(frozen=True, slots=True)
class Outside:
    """Something that the change does not touch: a builtin, a module, a name of a module."""

    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """What can't be said to be the same as anything; `outside` if the tree has no part in it: then it is the
    same where the same statements may bind it, in one `order`.
    """

    why: str
    outside: bool = False
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """A name that is bound for type checkers only, and what they take it for."""

    what: Unit | Outside | Unknown


Meaning = Unit | Outside | Unknown | Typed


class File:
    """A file that parses."""

    def __init__(self, path: str, data: bytes, contents: Contents) -> None:
        self.path = path
        self._data, self._contents = data, contents
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(data)
            self._compile()
        self.binders = binders_of(self.tree.body)
        self.bound = self.binders.keys()
        self._bindings: dict[str, tuple[str, ...]] = {}
        self.imports = list(imports_in(self.tree.body, inside_functions=False))

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
        try:
            part = ast.Module([*futures, *fresh.values()], [])
            self._keep(compile(part, self.path, "exec", dont_inherit=True), fresh.values())
        except SyntaxError:
            # Of several errors the whole file's first is told.
            compile(self.tree, self.path, "exec", dont_inherit=True)
            raise
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
        return list(imports_in(self.tree.body, inside_functions=False, for_types=False))

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
        """What binds a name, as texts."""
        if name not in self._bindings:
            self._bindings[name] = tuple(map(written, self.binders[name]))
        return self._bindings[name]

    def binding_in_order(self, name: str) -> tuple[str, ...]:
        """What may bind a name, star imports too: imports as texts."""
        nodes = {id(node) for each in ("*", name) for node in self.binders.get(each, ())}
        found = (node for node in self.tree.body if id(node) in nodes)
        return tuple("" if isinstance(node, Function | ast.ClassDef) else written(node) for node in found)

    @cached_property
    def conditions_for_types(self) -> list[ast.If]:
        """Blocks that are taken for what type checkers alone read."""
        if b"TYPE_CHECKING" not in self._data and self._data.isascii():
            return []
        nodes = (node for node in statements_in(self.tree) if isinstance(node, ast.If))
        return [node for node in nodes if is_type_checking(node.test)]

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
        return frozenset(name for name in self.bound if hasattr(builtins, name)) - OF_A_MODULE - self.typed

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Names of the module that functions bind."""
        if b"global" not in self._data and self._data.isascii():
            return frozenset()
        nodes = (node for node in statements_in(self.tree) if isinstance(node, ast.Global))
        return frozenset(name for node in nodes for name in node.names)

    @cached_property
    def exported(self) -> frozenset[str]:
        """Names that a star import of it may bring."""
        values = [n.value for n in self.tree.body if isinstance(n, ast.Assign) and "__all__" in bound_by(n)]
        if (
            len(values) == 1
            and "__all__" not in self.bound_again
            and isinstance(values[0], ast.List | ast.Tuple)
        ):
            items = values[0].elts
            if all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in items):
                return frozenset(ast.literal_eval(values[0]))
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


class Side:
    """The files of one tree that differ from the other's; those that names lead to are read when needed."""

    def __init__(self, tree: Tree, changed: Iterable[str], contents: Contents) -> None:
        """`contents` are those of both sides."""
        self.tree = tree
        self._contents = contents
        self.unreadable: dict[str, str] = {}
        self._files: dict[str, File | None] = {}
        self._meanings: dict[tuple[str, str], Meaning] = {}
        self.changed = {path: file for path in changed if (file := self.file(path)) is not None}

    def units(self) -> list[Unit]:
        """Units of all files that differ."""
        return [unit for file in self.changed.values() for unit in file.units.values()]

    def put(self, path: str, qualname: str, unit: Unit) -> None:
        """Give a file of the change a unit that it does not have, or another one in its place."""
        self.changed[path].units[qualname] = unit
        self._meanings.clear()

    def meaning(self, path: str, name: str) -> Meaning:
        """What a name means in a module: it is followed through imports."""
        key = (path, name)
        if key not in self._meanings:
            self._meanings[key] = self._meaning(path, name, 0)
        return self._meanings[key]

    def _meaning(self, path: str, name: str, depth: int) -> Meaning:
        file = self.file(path)
        if file is None or depth > _LONGEST_CHAIN:
            return Unknown(f"{path} can't be read")
        if name not in file.bound and path in self.changed and name in file.units:
            # A function that is lifted in the review's mind only.
            return file.units[name]
        if name in OF_A_MODULE or (name in PLACED and name not in file.bound):
            return Outside((name, path))
        if stars := file.imported.get("*"):
            # One of a module outside the tree brings the same names before and after.
            outside = all(self._leaves_the_tree(path, node) for node, _ in stars)
            why = f"{path} has a star import, which may bind {name}"
            return Unknown(why, outside, file.binding_in_order(name))
        if name in file.typed and not hasattr(builtins, name):
            # Nothing binds it when the program runs.
            return Typed(self._for_types(file, name, depth))
        if name not in file.bound or name in file.typed:
            return Outside(("builtin", name)) if hasattr(builtins, name) else Outside((path, name))
        if name not in file.imported and (name in file.units or path not in self.changed):
            return file.units[name] if path in self.changed else Outside((path, name))
        found = file.imported.get(name, ())
        # `import a.b` binds `a`, as `import a` does.
        plain = all(isinstance(node, ast.Import) and not alias.asname for node, alias in found)
        if not found or not file.only_imports(name) or (len(found) > 1 and not plain):
            return self._alternatives(file, name)
        node, alias = found[0]
        return self.imported(path, node, alias, depth)

    def _for_types(self, file: File, name: str, depth: int) -> Unit | Outside | Unknown:
        found = file.imported.get(name, ())
        if len(found) != 1:
            return Outside((file.path, name, *file.bindings(name)))
        [(node, alias)] = found
        meaning = self.imported(file.path, node, alias, depth)
        return meaning.what if isinstance(meaning, Typed) else meaning

    def _alternatives(self, file: File, name: str) -> Meaning:
        """A name that several statements bind: they must be the same ones, in a file of the same path."""
        return Outside((file.path, name, *file.bindings(name)))

    def imported(
        self, path: str, node: ast.Import | ast.ImportFrom, alias: ast.alias, depth: int = 0
    ) -> Meaning:
        """What one name of an import statement brings."""
        if alias.name == "*":
            return Unknown(f"{path} has a star import in a function or class")
        if isinstance(node, ast.Import):
            dotted = alias.name if alias.asname else alias.name.partition(".")[0]
            return self.module(dotted)
        where = self.source_of(path, node)
        found = self.tree.module(where) if where is not None else None
        if where is not None and found is None and self.tree.module(below(where, alias.name)) is not None:
            # A folder without an `__init__.py`.
            return self.module(below(where, alias.name))
        if where is None or found is None:
            return Outside(("module", str(where), alias.name))
        inner = self.file(found)
        if inner is None:
            return Unknown(f"{found} can't be read")
        if alias.name in inner.bound:
            return self._meaning(found, alias.name, depth + 1)
        return self.module(below(where, alias.name), attribute_of=found)

    def cells(self, path: str, name: str, depth: int = 0) -> list[tuple[str, str]]:
        """The variables of modules through which a name is read, the nearest first."""
        file = self.file(path)
        found = [(path, name)]
        if file is None or depth > _LONGEST_CHAIN:
            return found
        for node, alias in file.imported.get(name, ()):
            where = self.source_of(path, node) if isinstance(node, ast.ImportFrom) else None
            inner = self.tree.module(where) if where is not None else None
            if inner is not None:
                found += self.cells(inner, alias.name, depth + 1)
        return found

    def is_rebound(self, path: str, name: str) -> bool:
        """Does a function of the module bind a name of it?"""
        file = self.file(path)
        return file is not None and name in file.rebound

    def types_in_earnest(self, path: str) -> str:
        """Where a file has an `if TYPE_CHECKING:` whose condition is not that of typing, and may be true."""
        file = self.changed[path]
        for node in file.conditions_for_types:
            root = first_of(node.test)
            meaning = self.meaning(path, root.id) if isinstance(root, ast.Name) else None
            what = meaning.what if isinstance(meaning, Outside) else ()
            typing = len(what) > 1 and what[0] == "module" and what[1] in _TYPING
            if not typing and not (isinstance(meaning, Unit) and meaning.constant == _FALSE):
                return f"line {node.lineno}: {ast.unparse(node.test)} is not that of typing"
        return ""

    @cached_property
    def replacements(self) -> Replacements:
        """Names of modules that other files replace."""
        return Replacements(self.tree, self._contents.replacing)

    def runs(self, path: str, other: str) -> bool:
        """Does importing one file of the change run another one, too?"""
        seen, waiting = {path}, [path]
        while waiting:
            fresh = self.changed.keys() & self._run_by(waiting.pop()) - seen
            seen |= fresh
            waiting += fresh
        return other in seen

    def _run_by(self, path: str) -> set[str | None]:
        """Files of modules that one imports, with the packages around them."""
        dotted: list[str] = []
        for node in self.changed[path].run_imports:
            if isinstance(node, ast.ImportFrom):
                where = self.source_of(path, node) or ""
                dotted += [where, *(below(where, alias.name) for alias in node.names)]
            else:
                dotted += [alias.name for alias in node.names]
        parts = [name.split(".") for name in dotted]
        return {self.tree.module(".".join(part[:end])) for part in parts for end in range(1, len(part) + 1)}

    def _leaves_the_tree(self, path: str, node: ast.Import | ast.ImportFrom) -> bool:
        where = self.source_of(path, node) if isinstance(node, ast.ImportFrom) else None
        return where is not None and not getattr(node, "level", 0) and not self.tree.has_package(where)

    def attribute(self, meaning: Meaning, name: str) -> Meaning:
        """What an attribute of a module means; anything else's attributes are its own affair."""
        if not isinstance(meaning, Outside) or meaning.what[0] != "module":
            return Outside(("attribute",))
        path = meaning.what[1]
        file = self.file(path) if path.endswith(".py") else None
        if file is None or name in file.bound:
            return self.meaning(path, name) if file is not None else Outside(("attribute", path, name))
        folder = path.removesuffix("__init__.py").removesuffix(".py").rstrip("/")
        inner = (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")
        found = [candidate for candidate in inner if candidate in self.tree.identities]
        return Outside(("module", found[0])) if found else self.meaning(path, name)

    def module(self, dotted: str, attribute_of: str = "") -> Meaning:
        """A module, by its file where the tree has it."""
        found = self.tree.module(dotted)
        return Outside(("module", found or dotted, *([attribute_of] if attribute_of and not found else [])))

    def source_of(self, path: str, node: ast.ImportFrom) -> str | None:
        """The dotted name of the module that is imported from; None above the tree's root."""
        if not node.level:
            return node.module
        folders = path.split("/")[:-1]
        if node.level - 1 > len(folders):
            return None
        parts = folders[: len(folders) - (node.level - 1)]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def names_used(self, path: str) -> set[tuple[str, str]]:
        """What a file takes from modules of the tree, by import or as an attribute: paths and names."""
        file = self.file(path)
        if file is None:
            return set()
        found: set[tuple[str, str]] = set()
        for bound, imports in file.imported.items():
            for node, alias in imports:
                where = self.source_of(path, node) if isinstance(node, ast.ImportFrom) else None
                module = self.tree.module(where) if where else None
                if module:
                    found.add((module, alias.name))
                meaning: Meaning = self.imported(path, node, alias)
                for chain in file.attributes.get(bound, ()):
                    found.update(self._along(meaning, chain))
        return found

    def _along(self, meaning: Meaning, chain: Iterable[str]) -> Iterator[tuple[str, str]]:
        for attribute in chain:
            if isinstance(meaning, Outside) and meaning.what[0] == "module":
                yield meaning.what[1], attribute
            meaning = self.attribute(meaning, attribute)

    def file(self, path: str) -> File | None:
        """A file of the tree, if it is there and parses."""
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: str) -> File | None:
        if path not in self.tree.identities:
            return None
        try:
            return File(path, self.tree.read(path), self._contents)
        except SyntaxError as error:
            self.unreadable[path] = f"line {error.lineno}: {error.msg}"
        except (ValueError, RecursionError, MemoryError) as error:
            self.unreadable[path] = str(error) or type(error).__name__
        return None
