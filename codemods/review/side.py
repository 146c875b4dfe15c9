"""One side of a change: its units, and what each name of a module stands for."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from codemods.program.nodes import first_of
from codemods.review.content import Contents, imports_in
from codemods.review.file import OF_A_MODULE, File, is_too_deep
from codemods.review.namespace import Replacements
from codemods.review.normal import written
from codemods.review.trees import Tree, around, below
from codemods.review.units import MODULE, PLACED, Unit

_LONGEST_CHAIN = 20
_TYPING = ("typing", "typing_extensions")
_MISSING = ("ImportError", "ModuleNotFoundError")
# What a module says that may put another object, or one of another class, in its own place.
_STANDS_FOR = re.compile(rb"__class__\s*=|['\"]__class__|modules\s*[\[.]|ModuleType|__getattr__")
# What a name is worth that is bound to it once: `TYPE_CHECKING = False` saves an import.
_FALSE = repr([written(ast.Constant(False))])


@dataclass(frozen=True, slots=True)
class Outside:
    """Something that the change does not touch: a builtin, a module, a name of a module."""

    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A meaning that is the same as no other. With `outside` the tree has no part in it: then it is the same
    where the same statements may bind it, in one `order`.
    """

    why: str
    outside: bool = False
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """A name that is bound for type checkers only, and what they take it for."""

    what: Unit | Outside | Unknown


Meaning = Unit | Outside | Unknown | Typed


class Side:
    """The files of one tree that differ from the other's; those that names lead to are read when needed."""

    def __init__(
        self, tree: Tree, changed: Collection[str], contents: Contents, touched: Collection[str] = ()
    ) -> None:
        """`contents` are those of both sides; `touched` are all files that differ, asked for or not."""
        self.tree = tree
        self._touched = frozenset([*changed, *touched])
        self._settled: dict[str, bool] = {}
        self._contents = contents
        self.unreadable: dict[str, str] = {}
        self._files: dict[str, File | None] = {}
        self._meanings: dict[tuple[str, str], Meaning] = {}
        self._stars: dict[tuple[str, str], str | None] = {}
        self.changed = {path: file for path in changed if (file := self.file(path)) is not None}
        for path in [path for path, file in self.changed.items() if is_too_deep(file.tree)]:
            self.unreadable[path] = "nested too deeply to be analysed"
            self._files[path] = None
            del self.changed[path]

    def units(self) -> list[Unit]:
        """Units of all files that differ."""
        return [unit for file in self.changed.values() for unit in file.units.values()]

    def put(self, path: str, qualname: str, unit: Unit) -> None:
        """Give a file of the change a unit that it does not have, or another one in its place."""
        self.changed[path].units[qualname] = unit
        self._meanings.clear()

    def meaning(self, path: str, name: str) -> Meaning:
        """Follow a name of a module through imports to its meaning."""
        key = (path, name)
        if key not in self._meanings:
            self._meanings[key] = self._read_in(path, self._meaning(path, name, 0))
        return self._meanings[key]

    def _read_in(self, path: str, meaning: Meaning) -> Meaning:
        """The meaning of something where it is read: `eval` and its like answer for the module that calls
        them, whoever they were imported from.
        """
        if isinstance(meaning, Outside):
            *module, name = meaning.what
            if name in PLACED and module == ["module", "builtins"]:
                return Outside((name, path))
            if len(module) == 1 and meaning.what[0] in PLACED:
                return Outside((meaning.what[0], path))
        where, value = self._value(meaning)
        chain: list[str] = []
        while isinstance(value, ast.Attribute):
            chain.append(value.attr)
            value = value.value
        last = chain[0] if chain else value.id if isinstance(value, ast.Name) else ""
        if not isinstance(value, ast.Name) or last not in PLACED:
            return meaning
        found = self._meaning(where, value.id, 1)
        for attribute in reversed(chain):
            found = self.attribute(found, attribute, path)
        placed = isinstance(found, Outside) and found.what[0] in PLACED
        return Outside((found.what[0], path)) if placed and isinstance(found, Outside) else meaning

    def _value(self, meaning: Meaning) -> tuple[str, ast.expr | None]:
        """The expression that a name is bound to, where that is all that binds it, and its file."""
        nodes: Iterable[ast.stmt] = ()
        path = ""
        if isinstance(meaning, Unit) and meaning.kind == "binding":
            path, nodes = meaning.path, meaning.original
        elif isinstance(meaning, Outside) and len(meaning.what) == 2 and meaning.what[0].endswith(".py"):
            path = meaning.what[0]
            file = self.file(path)
            nodes = file.binders.get(meaning.what[1], ()) if file is not None else ()
        values = [node.value for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
        return path, values[0] if len(values) == 1 else None

    def _meaning(self, path: str, name: str, depth: int) -> Meaning:
        file = self.file(path)
        if file is None or depth > _LONGEST_CHAIN:
            return Unknown(f"{path} can't be read")
        if name not in file.bound and path in self.changed and name in file.units:
            # A function that is lifted in the review's mind only.
            return file.units[name]
        if name == "__doc__" and name not in file.bound:
            return Outside((name, path, repr(ast.get_docstring(file.tree, clean=False))))
        if name in OF_A_MODULE or (name in PLACED and name not in file.bound):
            return Outside((name, path))
        stars = file.imported.get("*")
        if stars and name != "*" and (star := self._star(file, name)) is not None:
            if star and name not in file.bound:
                return self._meaning(star, name, depth + 1)
        elif stars:
            # One of a module that the change has no part in brings the same names before and after.
            sources = [self._settled_source(path, node, name) for node, _ in stars]
            order = (*file.binding_in_order(name), *map(str, sources))
            return Unknown(f"{path} has a star import, which may bind {name}", None not in sources, order)
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
        return self._imported(path, node, alias, depth)

    def _star(self, file: File, name: str) -> str | None:
        """The module of the tree from which a star import of a file brings a name; empty if none does, None
        if that can't be told.
        """
        key = (file.path, name)
        if key not in self._stars:
            self._stars[key] = None  # as long as modules import each other
            self._stars[key] = self._find_star(file, name)
        return self._stars[key]

    def _find_star(self, file: File, name: str) -> str | None:
        bringing = dict[str, None]()
        for node, _ in file.imported["*"]:
            where = self.source_of(file.path, node) if isinstance(node, ast.ImportFrom) else None
            found = self.tree.module(where) if where is not None else None
            brings = self._brings(found, name) if found is not None else None
            if brings is None:
                return None
            if brings and found is not None:
                bringing[found] = None
        # Of several, or beside another statement that binds the name, the order decides.
        return None if len(bringing) + (name in file.bound) > 1 else next(iter(bringing), "")

    def _brings(self, path: str, name: str) -> bool | None:
        """Does a star import of a module of the tree bring a name? None if that can't be told."""
        file = self.file(path)
        if file is None or name in file.rebound or self.is_bound_by_text(path, name):
            return None
        if file.listed is None and "__all__" in file.bound:
            return None
        if file.listed is None and name.startswith("_"):
            return False
        inside = path.removesuffix("__init__.py") + name
        if path.endswith("__init__.py") and self.tree.module_at(inside):
            return None
        if file.listed is not None and name not in file.listed:
            return False
        if name in file.typed:
            return None
        if name in file.bound:
            return True
        if "*" not in file.imported:
            return False if file.listed is None else None
        star = self._star(file, name)
        return None if star is None else bool(star)

    def _for_types(self, file: File, name: str, depth: int) -> Unit | Outside | Unknown:
        found = file.imported.get(name, ())
        if len(found) != 1:
            return Outside((file.path, name, *file.bindings(name)))
        [(node, alias)] = found
        meaning = self._imported(file.path, node, alias, depth)
        return meaning.what if isinstance(meaning, Typed) else meaning

    def _alternatives(self, file: File, name: str) -> Meaning:
        """A name that several statements bind: they must be the same ones, in a file of the same path."""
        if name not in file.rebound and self._is_optional(file.binders[name]):
            return Outside(("optional", name, *file.bindings(name)))
        return Outside((file.path, name, *file.bindings(name)))

    def _is_optional(self, statements: Sequence[ast.stmt]) -> bool:
        """Is it a module from outside the tree, or a constant where that is missing, in whatever file?"""
        [first, *more] = statements
        if more or not isinstance(first, ast.Try) or first.orelse or first.finalbody:
            return False
        kinds = [handler.type for handler in first.handlers]
        if not all(isinstance(kind, ast.Name) and kind.id in _MISSING for kind in kinds):
            return False
        inside = [*first.body, *(node for handler in first.handlers for node in handler.body)]
        return all(map(self._brings_from_outside, inside))

    def _brings_from_outside(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Import):
            return not any(self.tree.has_package(alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            starred = any(alias.name == "*" for alias in node.names)
            return not (node.level or starred or self.tree.has_package(node.module or ""))
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            return False
        return all(isinstance(each, ast.Name) for each in node.targets)

    def imported(self, path: str, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Meaning:
        """The meaning that one name of an import statement brings."""
        return self._read_in(path, self._imported(path, node, alias, 0))

    def _imported(
        self, path: str, node: ast.Import | ast.ImportFrom, alias: ast.alias, depth: int
    ) -> Meaning:
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
        if found == path and inner.binders.get(alias.name) == [node]:
            # A package that imports a module of its own.
            return self.module(below(where, alias.name), attribute_of=found)
        if alias.name in inner.bound or ("*" in inner.imported and self._star(inner, alias.name)):
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
            if inner is not None and inner != path:
                found += self.cells(inner, alias.name, depth + 1)
        if name not in file.bound and "*" in file.imported and (star := self._star(file, name)):
            found += self.cells(star, name, depth + 1)
        return found

    def is_rebound(self, path: str, name: str) -> bool:
        """Does a function of the module bind a name of it?"""
        file = self.file(path)
        return file is not None and name in file.rebound

    def is_bound_by_text(self, path: str, name: str) -> bool:
        """May the module bind a name of it by what it is called?"""
        file = self.file(path)
        names = file.bound_by_text if file is not None else frozenset[str]()
        return names is None or name in names

    def is_kept(self, path: str, name: str) -> bool:
        """Is a name of a module bound when that is loaded, and never again, by whatever file?"""
        if self.is_rebound(path, name) or self.is_bound_by_text(path, name) or self._reloads:
            return False
        other = path in self.tree.identities and _STANDS_FOR.search(self.tree.read(path)) is not None
        return not (other or self.comes_twice(path, name)) and (path, name) not in self.replacements

    def comes_twice(self, path: str, name: str) -> bool:
        """May a name be one thing while its module is loaded, and another one later?"""
        file = self.file(path)
        binders = file.binders.get(name, ()) if file is not None else ()
        if len(binders) > 1 and not all(isinstance(node, ast.Import) for node in binders):
            return True
        # Whoever imports a module of a package binds its name there.
        inside = path.removesuffix("__init__.py") + name
        if not binders or not path.endswith("__init__.py") or not self.tree.module_at(inside):
            return False
        files = (f"{inside}.py", f"{inside}/__init__.py")
        return self.meaning(path, name) not in [Outside(("module", found)) for found in files]

    @cached_property
    def _reloads(self) -> bool:
        """May a module be loaded once more?"""
        files = (
            path for path, blob in self.tree.identities.items() if path.endswith(".py") and " " not in blob
        )
        return any(b"reload" in self.tree.read(path) for path in files)

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
            fresh = self.changed.keys() & self.loaded_by(waiting.pop()) - seen
            seen |= fresh
            waiting += fresh
        return other in seen

    def loaded_by(self, path: str) -> set[str]:
        """Files of modules that one imports, with the packages around them."""
        file, dotted = self.file(path), dict[str, None]()
        for node in file.run_imports if file is not None else ():
            where = self.source_of(path, node) if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                dotted.update(dict.fromkeys(around(below(where or "", alias.name))))
        return {found for name in dotted if (found := self.tree.module(name)) is not None}

    def _settled_source(self, path: str, node: ast.Import | ast.ImportFrom, name: str) -> str | None:
        """The module of a star import that brings the same before and after; None if that can't be told."""
        where = self.source_of(path, node) if isinstance(node, ast.ImportFrom) else None
        if where is None or (not getattr(node, "level", 0) and not self.tree.has_package(where)):
            return where
        found = self.tree.module(where)
        # A module of a package is a name of it from its first import on, by whatever file.
        inside = (found or "").removesuffix("__init__.py") + name
        if found is None or (found.endswith("__init__.py") and self.tree.module_at(inside)):
            return None
        if where not in self._settled:
            self._settled[where] = all(map(self._is_settled, self._closure(around(where))))
        return found if self._settled[where] else None

    def _closure(self, modules: Iterable[str]) -> set[str]:
        """Modules with all that they import, at any depth, as far as the tree may have them."""
        seen, waiting = set(modules), [*modules]
        while waiting:
            path = self.tree.module(waiting.pop())
            file = self.file(path) if path is not None and path not in self._touched else None
            for node in imports_in(file.tree.body) if file is not None else ():
                where = (
                    self.source_of(file.path, node)
                    if file is not None and isinstance(node, ast.ImportFrom)
                    else ""
                )
                for alias in node.names:
                    dotted = below(where or "", alias.name.removesuffix("*")).rstrip(".")
                    fresh = {each for each in around(dotted) if each and self.tree.has_package(each)} - seen
                    seen |= fresh
                    waiting += fresh
        return seen

    def _is_settled(self, dotted: str) -> bool:
        """Is a module none of the tree, or the same on both sides, and says all that it imports?"""
        path = self.tree.module(dotted)
        if path is None:
            # A folder, or a name that its package binds; of two files that it may be nothing is known.
            return dotted.rpartition(".")[2] not in self.tree.ambiguous
        file = self.file(path)
        return path not in self._touched and file is not None and not file.loads_by_name

    def attribute(self, meaning: Meaning, name: str, read_in: str) -> Meaning:
        """The meaning of a module's attribute in a file; anything else's attributes are its own affair."""
        if not isinstance(meaning, Outside) or meaning.what[0] != "module":
            return Outside(("attribute",))
        if name in PLACED and meaning.what == ("module", "builtins"):
            return Outside((name, read_in))
        return self._read_in(read_in, self._attribute(meaning, name))

    def _attribute(self, meaning: Outside, name: str) -> Meaning:
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

    def sources(self, file: File) -> Iterator[tuple[ast.ImportFrom, str]]:
        """The `from` imports that run when a file is loaded, and the dotted names of their modules."""
        for node in file.run_imports:
            where = self.source_of(file.path, node) if isinstance(node, ast.ImportFrom) else None
            if isinstance(node, ast.ImportFrom) and where is not None:
                yield node, where

    def names_used(self, path: str) -> set[tuple[str, str]]:
        """Names that a file takes from modules of the tree, by import at any depth or as an attribute: paths
        and names, modules themselves as `<module>`.
        """
        file = self.file(path)
        if file is None:
            return set()
        found: set[tuple[str, str]] = set()
        for node in imports_in(file.tree.body):
            where = self.source_of(path, node) if isinstance(node, ast.ImportFrom) else ""
            module = self.tree.module(where) if where is not None else None
            for alias in node.names:
                if module and isinstance(node, ast.ImportFrom):
                    found.add((module, alias.name))
                for dotted in around(below(where or "", alias.name)):
                    if there := self.tree.module(dotted):
                        found.add((there, MODULE))
                meaning: Meaning = self.imported(path, node, alias)
                bound = alias.asname or alias.name.partition(".")[0]
                for chain in file.attributes.get(bound, ()):
                    found.update(self.along(path, meaning, chain))
        return found

    def along(self, path: str, meaning: Meaning, chain: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Names of modules of the tree through which a file reads a chain of attributes."""
        for attribute in chain:
            if isinstance(meaning, Outside) and meaning.what[0] == "module":
                yield meaning.what[1], attribute
            meaning = self.attribute(meaning, attribute, path)

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
