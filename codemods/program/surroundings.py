"""What other files, the import system and the module itself do with the names of one module.

A lifted function gives its module a new name. It must not meet one that somebody else means there, and nobody
may be looking at all of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from codemods.program.marks import SAYS, Mark, has_mark, installs_checker, settings_install_checker
from codemods.program.namespaces import asks_itself
from codemods.program.nodes import called_name
from codemods.program.origins import Names, absolute, imported, imports_any, resolve, strings, takes_any, walk
from codemods.program.repository import (
    File,
    ModuleName,
    file_or_none,
    import_base,
    module_files,
    module_name,
    package_of,
    says,
    shown_path,
)
from codemods.program.source import Source, statements_in
from codemods.program.texts import loads_any, words_in
from codemods.program.words import words

T = TypeVar("T")

_LISTS = frozenset(["dir", "vars"])
_OF_FUNCTION = frozenset(["__closure__", "__code__", "__globals__"])
_TEXTS = frozenset(["getclosurevars", "getsource", "getsourcelines"])
# What is handed to these is named there, and goes no further.
_KEPT = _TEXTS | words("""
    delattr dir getattr hasattr id isinstance multiple object print reload setattr spy stub vars
""")
_RUNS = frozenset(["compile", "exec"])
# Of other nodes nothing is told.
_RESOLVED = frozenset([ast.Attribute, ast.Call, ast.Name, ast.Subscript])
_FOLLOWED = frozenset([ast.Assign, ast.Attribute, ast.Call])
_TOLD = frozenset(
    [
        *(ast.Attribute, ast.Call, ast.Constant, ast.Delete, ast.ImportFrom, ast.keyword),
    ]
)
# By these, or by an import of itself, a file gets at its own namespace or text.
_ITSELF = re.compile(
    r"__(dict|file|globals|import|main)__|import_module|importorskip|modules|reload|run_module"
)


@dataclass(frozen=True, slots=True)
class Look:
    """A place outside of a function that sees that the module has a name more; ``by_name``: it only reads one
    whose name a run tells.
    """

    path: str
    line: int
    what: str
    by_name: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


@dataclass(slots=True)
class _Seen:
    """What one file does with the names of a module."""

    path: str
    module: ModuleName
    names: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    imports_any: bool = False
    takes_any: bool = False
    escapes: bool = False
    own: bool = False
    looks: list[Look] = field(default_factory=list)
    marks: frozenset[Mark] = frozenset()
    reloads: bool = False

    def look(self, node: ast.expr, what: str, *, by_name: bool = False) -> None:
        """An expression sees every name of the module."""
        self.looks.append(Look(self.path, node.lineno, what, by_name))

    def is_module(self, path: str | None) -> bool:
        """Whether a dotted path leads to the module itself."""
        return path is not None and self.module.within(path) == ""


class Surroundings:
    """One module as the rest of its project sees it.

    ``files`` gives the project's files with their bytes, the module's own among them or not.
    """

    def __init__(
        self, source: Source, path: Path, root: Path, files: Callable[[], Iterable[tuple[Path, bytes]]]
    ) -> None:
        self.source = source
        self.path = path
        self.root = root
        self.files = files
        self.module = module_name(path, root)
        self._checked = installs_checker(source.text.encode("utf-8", "replace"))
        self._bases = [root, root / "src", import_base(path)]
        self._known: dict[object, object] = {}
        self._derived: str | None = None

    def once(self, key: object, make: Callable[[], T]) -> T:
        """A fact about the project, worked out when first asked for."""
        if key not in self._known:
            self._known[key] = make()
        return cast("T", self._known[key])

    @cached_property
    def _others(self) -> list[_Seen]:
        tail = self.module.name.rpartition(".")[2]
        inside = self.path.parent if self.path.name == "__init__.py" else None
        found = []
        for path, data in self.files():
            self._checked = self._checked or installs_checker(data)
            if path == self.path:
                continue
            near = says(data, tail) or (inside is not None and inside in path.parents)
            near = near or (self.path.parent.name.encode() in data and loads_any(data))
            if self._derived is None and has_mark(data, "derived"):
                self._derived = shown_path(path, self.root)
            if near:
                file = file_or_none(path, data, self.root)
                if file is not None:
                    found.append(_look_at(file, self.module, self.path.name))
                    found[-1].marks = frozenset(mark for mark in SAYS if has_mark(data, mark))
                    continue
                # What can't be parsed runs nowhere; its words are counted all the same.
                words = set(re.findall(r"\w+", data.decode("utf-8", "replace")))
                shown = shown_path(path, self.root)
                found.append(_Seen(shown, self.module, words=words, texts=words, imports_any=True))
        return found

    @cached_property
    def _own(self) -> _Seen:
        names = ModuleName(self.module.name, (*self.module.aliases, "__main__"))
        package = package_of(self.path, self.module.name)
        file = File(self.source.path, self.module.name, package, self.source.tree)
        return _look_at(file, names, self.path.name, own=True)

    @property
    def _seen(self) -> list[_Seen]:
        return [*self._others, self._own]

    @cached_property
    def _looking(self) -> list[_Seen]:
        """The files that may see every name of the module."""
        return [*self._others, *([self._own] if self._may_look_at_itself() else [])]

    def _may_look_at_itself(self) -> bool:
        """Whether the file may look at its own namespace or text: a search for words takes less time."""
        if _ITSELF.search(self.source.text) is not None:
            return True
        package = package_of(self.path, self.module.name)
        for node in statements_in(self.source.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for made in imported(node, package):
                    path = made.module if made.name in (None, "*") else made.path
                    if any(_on_one_way(path.lstrip("."), spelled) for spelled in self.module.spellings):
                        return True
        return False

    @cached_property
    def _submodules(self) -> frozenset[str]:
        if self.path.name != "__init__.py":
            return frozenset()
        folder = self.path.parent
        if not folder.is_dir():
            below = (path.relative_to(folder) for path, _ in self.files() if folder in path.parents)
            return frozenset(path.parts[0].partition(".")[0] for path in below)
        return frozenset(entry.name.partition(".")[0] for entry in folder.iterdir())

    def taken(self, name: str) -> bool:
        """Whether somebody else may mean something by a name of the module."""
        if name in self._submodules or self.late_star(0, name) is not None:
            return True
        return any(
            any(name in known for known in (seen.names, seen.asked, seen.words)) for seen in self._seen
        )

    def asked(self, name: str) -> bool:
        """Whether some file asks the module, and surely the module, for a name."""
        return any(name in seen.asked for seen in self._seen)

    def reads(self, name: str) -> str | None:
        """Another file that may read a name from the module, or None.

        Besides those that ask the module for it, these are files that may import any module and take such a
        name from something unknown; all files, if one gives the module itself away.
        """
        if name in self._submodules:
            return "a file of its own"
        return next((s.path for s in self._seen if name in s.asked or self._may_mean(s, name)), None)

    def _may_mean(self, seen: _Seen, name: str) -> bool:
        """Whether a name that a file takes from something unknown may be meant."""
        unknown = (self.is_given or seen.imports_any) and not seen.own
        return unknown and name in seen.names | seen.texts

    def look(self) -> Look | None:
        """A place that sees every name of the module, one that does not only read first."""
        looks = [look for seen in self._looking for look in seen.looks]
        return next((look for look in looks if not look.by_name), next(iter(looks), None))

    def may_ask(self, name: str) -> bool:
        """Whether a file takes names that only a run tells, or from modules that only a run tells, and may
        mean this one: a public name, or one that it spells.
        """
        return any(
            (seen.imports_any and seen.takes_any and (name[:1] != "_" or name in seen.names | seen.texts))
            or self._may_mean(seen, name)
            for seen in self._seen
        )

    @cached_property
    def is_given(self) -> bool:
        """Whether some file hands the module itself to others."""
        return any(seen.escapes for seen in self._seen)

    @property
    def reloaded(self) -> bool:
        """Whether some file loads the module a second time."""
        return any(seen.reloads for seen in self._seen)

    @property
    def checks_annotations(self) -> bool:
        """Whether the project may evaluate the annotations of all its functions when it runs: some file, or
        its settings, names what of `beartype`, `jaxtyping` or `typeguard` does that.
        """
        _ = self._others
        return self._checked or settings_install_checker(self.root)

    def marked(self, mark: Mark, names: Collection[str] | None) -> str | None:
        """A file that shows by its words that it looks at something, and what that is in words, or None.

        Besides the module itself, these are files that take one of some names (None: any), or all, from it.
        """
        if has_mark(self.source.text.encode("utf-8", "replace"), mark):
            return f"{self.source.path} {SAYS[mark]}"
        takes = (
            seen
            for seen in self._others
            if mark in seen.marks
            and (seen.escapes or (seen.asked if names is None else seen.asked.intersection(names)))
        )
        return next((f"{seen.path} {SAYS[mark]}" for seen in takes), None)

    def asks_for_derived(self) -> str | None:
        """A file, of the whole project, that may see what derives from its classes, in words, or None."""
        _ = self._others
        own = has_mark(self.source.text.encode("utf-8", "replace"), "derived")
        path = self.source.path if own else self._derived
        return None if path is None else f"{path} {SAYS['derived']}"

    def late_star(self, line: int, name: str | None = None) -> int | None:
        """The line of a star import after a line that may bring a name; without one, that may bring any."""
        late = ((at, module) for at, module in self._stars if at > line)
        return next((at for at, module in late if name is None or self._may_bring(module, name)), None)

    def _may_bring(self, module: str, name: str) -> bool:
        """Whether a module may have a name: one of the project, if a file of the project has the word."""
        own = any(path.is_file() for path in module_files(module, self._bases))
        return not own or any(says(data, name) for _, data in self.files())

    @cached_property
    def _stars(self) -> list[tuple[int, str]]:
        """The module's own star imports: the last line at which each may run, and the module."""
        package = package_of(self.path, self.module.name)
        found = []
        for statement in self.source.tree.body:
            loop = isinstance(statement, (ast.For, ast.While))
            for node in statements_in(statement):
                if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                    line = (statement.end_lineno or node.lineno) if loop else node.lineno
                    found.append((line, absolute(node, package)))
        return found


def _on_one_way(path: str, module: str) -> bool:
    """Whether a dotted path leads to a module, to a package around it, or to something in it."""
    return not path or f"{path}.".startswith(f"{module}.") or f"{module}.".startswith(f"{path}.")


def _look_at(looking: File, module: ModuleName, file: str, *, own: bool = False) -> _Seen:
    """What a file does with the names of a module, which is in a file of some name."""
    package = looking.package
    seen = _Seen(looking.shown, module, own=own)
    given, runs = False, False
    stores: set[str] = set()
    reads_file: ast.expr | None = None
    values: set[ast.AST] = set()
    for node, scope in walk(looking.tree, package):
        kind = type(node)
        if kind in _FOLLOWED:
            values.update(_followed(node))
        if kind in _RESOLVED and not seen.escapes and node not in values:
            assert isinstance(node, ast.expr)
            seen.escapes = seen.is_module(resolve(node, scope))
        if kind not in _TOLD:
            continue
        match node:
            case ast.Attribute():
                if not isinstance(node.ctx, ast.Load):
                    stores.add(node.attr)
                _attribute(node, scope, seen)
            case ast.ImportFrom():
                if seen.is_module(absolute(node, package)):
                    seen.asked.update(alias.name for alias in node.names)
            case ast.Delete():
                seen.reloads = seen.reloads or _forgets(node, scope, seen)
            case ast.keyword(arg=str() as name) if not own:
                seen.words.add(name)
            case ast.Constant(value=str() as text) if not own:
                if within := module.within(text.replace(":", ".")):
                    seen.asked.add(within.partition(".")[0])
                seen.words.update(re.findall(r"\w+", text))
                seen.texts.update(words_in(text))
                reads_file = reads_file or (node if text.endswith(file) else None)
            case ast.Call() if own and asks_itself(node):
                seen.look(node, "takes its own module or text")
            case ast.Call():
                seen.imports_any = seen.imports_any or imports_any(node)
                seen.takes_any = seen.takes_any or takes_any(node, scope)
                seen.reloads = seen.reloads or _forgets(node, scope, seen)
                given = _call(node, scope, seen) or given
                runs = runs or (isinstance(node.func, ast.Name) and node.func.id in _RUNS)
    if given:
        seen.names |= stores
    if runs and reads_file is not None:
        seen.look(reads_file, "may run its text somewhere else")
    return seen


def _attribute(node: ast.Attribute, scope: Names, seen: _Seen) -> None:
    """Whether an attribute is of the module, sees names of it, or what a function is made of."""
    base, own = resolve(node.value, scope), seen.own
    within = None if base is None else seen.module.within(base)
    if node.attr == "__dict__" and within == "":
        seen.look(node, "looks at its namespace")
    elif own and node.attr == "__globals__" and isinstance(node.ctx, ast.Load):
        seen.look(node, "looks at the globals of a function")
    elif node.attr in _OF_FUNCTION and within and not own:
        seen.look(node, f"looks at {node.attr} of {within}")
    of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    near = isinstance(node.value, (ast.Call, ast.Subscript)) if own else not of_self
    if within == "":
        seen.asked.add(node.attr)
    elif base is None and near:
        seen.names.add(node.attr)


def _followed(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that are told by name wherever they go: an attribute's object, what a name is given."""
    match node:
        case ast.Attribute() | ast.Assign(targets=[ast.Name()]):
            if node.value is not None:
                yield node.value
        case ast.Call(args=[first, *_]):
            if called_name(node) in _KEPT:
                yield first


def _forgets(node: ast.Call | ast.Delete, scope: Names, seen: _Seen) -> bool:
    """Whether something may take the module out of ``sys.modules``, so that it is loaded again.

    A script that does so on its way, and imports nothing of the module itself, has had nothing of it yet.
    """
    if scope.top() is scope and all(seen.module.within(path) is None for path in scope.imports.values()):
        return False
    taken: list[tuple[ast.expr, ast.expr]] = []
    match node:
        case ast.Delete(targets):
            taken = [(target.value, target.slice) for target in targets if isinstance(target, ast.Subscript)]
        case ast.Call(ast.Attribute(attr="delitem"), [space, key, *_]):
            taken = [(space, key)]
        case ast.Call(ast.Attribute(space, "pop"), [key, *_]):
            taken = [(space, key)]
        case ast.Call(ast.Attribute(space, "clear")):
            return resolve(space, scope) == "sys.modules"
    return any(_means(key, scope, seen) for space, key in taken if resolve(space, scope) == "sys.modules")


def _means(key: ast.expr, scope: Names, seen: _Seen) -> bool:
    """Whether a key of ``sys.modules`` may be the module's."""
    texts = strings(key, scope)
    if texts is not None:
        return any(map(seen.is_module, texts))
    # A key that only a run tells may mean any module; of those, the ones that the file knows.
    return any(seen.module.within(path) is not None for path in scope.top().imports.values())


def _call(node: ast.Call, scope: Names, seen: _Seen) -> bool:
    """What a call does with the module; whether it hands it to something."""
    name = called_name(node)
    given = [resolve(argument, scope) for argument in node.args]
    whole = [seen.is_module(path) for path in given]
    of_module = whole[:1] == [True]
    if name in _LISTS and of_module:
        seen.look(node, f"lists its names by {name}()")
    elif name in ("getmembers", "getmembers_static") and of_module:
        seen.look(node, "lists its names by inspect.getmembers()")
    elif name in _TEXTS and given and given[0] is not None and seen.module.within(given[0]) is not None:
        seen.look(node, f"reads its text by {name}()")
    elif name in ("getattr", "hasattr", "setattr", "delattr") and of_module and len(node.args) > 1:
        texts = strings(node.args[1], scope)
        if texts is not None:
            seen.asked.update(texts)
        else:
            reads = name in ("getattr", "hasattr")
            seen.look(node, "takes names from it that only a run tells", by_name=reads)
    elif name == "reload" and of_module:
        seen.reloads = True
    else:
        return any(whole)
    return False
