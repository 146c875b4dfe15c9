"""Seams: names of a module that tests replace, and that must therefore go on working after a move; who reads
them: one that nothing reads there is lost.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.program.imports import absolute
from codemods.program.nodes import ANY_NAME, called_name
from codemods.program.origins import Names, resolve, text_of, walk
from codemods.program.repository import (
    Files,
    ModuleName,
    file_or_none,
    files_with_bytes,
    module_name,
    names_module,
    project_root,
    read_file,
    shown_path,
)
from codemods.program.scopes import ScopeTree
from codemods.program.source import SourceError, read_source, words
from codemods.program.walk import read_scopes

_SETTERS = words("setattr delattr spy stub patch patch.object patch.multiple")
_OF_SPACES = words("dict setitem delitem")
_READERS = words("""
    getattr hasattr import_module importorskip find_spec reload getLogger get_logger dict print raises match
    fullmatch search startswith endswith format get items keys values setitem delitem
""")
"""Calls that take a module, its namespace or a dotted name and replace nothing."""


@dataclass(frozen=True, slots=True, order=True)
class Seam:
    """One place where a name of the module is replaced.

    Attributes:
        name: the name below the module, dotted where an attribute of one of its names is replaced
            (``PPOAgent.load``); ``*`` stands for a name that only a run would tell (``*``, ``PPOAgent.*``).
        path: the file that replaces it, relative to the root.
        line: where.
        test: qualified name of the enclosing function; empty at module level.
        how: ``setattr``, ``patch``, ``patch.object``, ``assignment`` and so on.
    """

    name: str
    path: str
    line: int
    test: str
    how: str

    @property
    def root(self) -> str:
        """The module's own name through which the replaced thing is reached."""
        return self.name.partition(".")[0]

    @property
    def rebinds(self) -> bool:
        """Tell whether the module's own name is replaced, not an attribute of what it refers to."""
        return "." not in self.name


def find_seams(
    folders: Iterable[Path], module: ModuleName, root: Path, files: Files = files_with_bytes
) -> tuple[Seam, ...]:
    """Every place below some folders where a name of the module is replaced, sorted by name, file and line;
    ``files`` gives those below a folder.

    A call of something unknown that is handed the module and a name, or both as a dotted string, counts.

    Raises:
        SourceError: if a file that mentions the module is not valid Python: a seam could hide in it.
    """
    found, word = set[Seam](), module.name.rpartition(".")[2]
    given = dict(pair for folder in folders for pair in files(folder))
    for path, data in given.items():
        if not names_module(data, word):
            continue
        try:
            file = read_file(path, data, root)
        except SourceError as error:
            raise SourceError(f"{error} (tests are read to find the names that they replace)") from None
        for name, line, test, how in replacing_of(file.tree, file.package).names_of(module):
            found.add(Seam(name, file.shown, line, test, how))
    return tuple(sorted(found))


class Replacing:
    """Names that one file replaces, of whatever modules."""

    def __init__(self, tree: ast.Module, package: str) -> None:
        self._targets: list[tuple[str, int, str, str]] = []
        for node, scope in walk(tree, package):
            if isinstance(node, ast.Call):
                self._call(node, scope)
            elif isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                how = "assignment" if isinstance(node.ctx, ast.Store) else "del"
                self._targets += (
                    (target, node.lineno, scope.function, how) for target in _stored(node, scope)
                )

    def _call(self, node: ast.Call, scope: Names) -> None:
        how = _how(node)
        self._targets += (
            (target, node.lineno, scope.function, how) for target in _call_targets(node, how, scope)
        )

    def names_of(self, module: ModuleName) -> Iterator[tuple[str, int, str, str]]:
        """Names of a module: below it, the line, the function, how."""
        for target, line, function, how in self._targets:
            if name := _below(target, module):
                yield name, line, function, how


@functools.lru_cache(maxsize=256)
def replacing_of(tree: ast.Module, package: str) -> Replacing:
    """Search a file once for all modules."""
    return Replacing(tree, package)


def _below(target: str, module: ModuleName) -> str | None:
    """Return the rest of a target below the module, up to a name that nothing tells: ``C.*``."""
    name = module.within(target)
    if name is None or ANY_NAME not in (parts := name.split(".")):
        return name
    return ".".join(parts[: parts.index(ANY_NAME) + 1])


def _stored(node: ast.Attribute | ast.Subscript, scope: Names) -> list[str]:
    if isinstance(node, ast.Subscript):
        space = _namespace(node.value, scope)
        return [] if space is None else [f"{space}.{text_of(node.slice, scope) or ANY_NAME}"]
    base = resolve(node.value, scope)
    return [] if base is None else [f"{base}.{node.attr}"]


def _namespace(node: ast.expr, scope: Names) -> str | None:
    """The object whose namespace an expression is: ``m.__dict__``, ``vars(m)``."""
    match node:
        case ast.Attribute(owner, "__dict__") | ast.Call(ast.Name("vars"), [owner, *_]):
            return resolve(owner, scope)
    return None


def _how(node: ast.Call) -> str:
    """The name of what is called: ``setattr``, ``patch``, ``patch.object`` of whatever mocker."""
    match node.func:
        case ast.Attribute(ast.Name("patch") | ast.Attribute(attr="patch"), attr):
            return f"patch.{attr}"
    return called_name(node) or "call"


def _call_targets(node: ast.Call, how: str, scope: Names) -> Iterator[str]:
    """The dotted names that a call may replace: a dotted text, or an object and then a text.

    Of a call that is known to replace something, texts need no literals, and what none tells is any name.
    """
    function, name, given = node.func, called_name(node), node.args
    holders = [function.value, *given] if isinstance(function, ast.Attribute) else given
    spaces = [space for each in holders if (space := _namespace(each, scope)) is not None]
    if spaces and (name in _OF_SPACES or name not in _READERS):
        yield from (f"{space}.{ANY_NAME}" for space in spaces)
    if name in _READERS:
        return
    values = [*given, *(keyword.value for keyword in node.keywords)]
    told = [text_of(each, scope) if how in _SETTERS else _literal(each) for each in values]
    yield from (text for text in told if text is not None and _is_path(text))
    for value, text in zip(values[:1] if how in _SETTERS else given[:-1], told[1:], strict=False):
        base = resolve(value, scope) if text is not None and text.isidentifier() else None
        if base is not None:
            yield f"{base}.{text}"
    if how in _SETTERS and how != "patch" and values and (how == "patch.multiple" or told[1:2] == [None]):
        base = resolve(values[0], scope) or (told[0] if how == "patch.multiple" else None)
        yield from [] if base is None else [f"{base}.{ANY_NAME}"]


def _literal(node: ast.expr) -> str | None:
    """Return the text that a literal is, unless it names files: ``run_path("train.py")``, ``*.csv``."""
    match node:
        case ast.Constant(str(text)) if not text.endswith(".py") and ANY_NAME not in text:
            return text
    return None


def _is_path(text: str) -> bool:
    """Tell whether a text may name something in a module."""
    parts = text.split(".")
    named = all(part.isidentifier() or part == ANY_NAME for part in parts)
    return named and len(parts) > 1


@dataclass(frozen=True, slots=True)
class SeamReaders:
    """A seam of a module, where tests replace it, and who reads it when it is replaced.

    Attributes:
        name: the module's own name that is replaced.
        places: where; empty for a name that was asked for and that no text replaces.
        bound: whether the module's top level binds it at all.
        readers: qualified names of functions of the module, and places (``file:line``) of other files, that
            read it from the module when they run.
        rebinds: whether the name itself is replaced, not an attribute of what it refers to.
    """

    name: str
    places: tuple[Seam, ...]
    bound: bool
    readers: tuple[str, ...]
    rebinds: bool

    @property
    def lost(self) -> bool:
        """Tell whether replacing the name has no effect."""
        return not self.bound or (self.rebinds and not self.readers)


def seams_of(
    path: Path, *, tests: Sequence[Path], root: Path | None = None, names: Iterable[str] = ()
) -> tuple[SeamReaders, ...]:
    """The names of a file's module that tests below some folders replace, sorted: where, and who reads them.

    ``root`` is the folder from which modules are named; without it, the project's around the file. ``names``
    are told of, too, if no test replaces them.

    Raises:
        SourceError: if the file, or a test that mentions its module, is not Python.
    """
    root = project_root(path) if root is None else root
    source = read_source(path, shown_path(path, root))
    tree = read_scopes(source)
    module = module_name(path, root)
    found: dict[str, list[Seam]] = {name: [] for name in names}
    rebound = set(found)
    for seam in find_seams(tests, module, root):
        if seam.root != ANY_NAME:
            found.setdefault(seam.root, []).append(seam)
            if seam.rebinds:
                rebound.add(seam.root)
    others = tuple(_outside(module, path, root, tests))
    return tuple(
        SeamReaders(
            name=name,
            places=tuple(places),
            bound=(tree.module, name) in tree.binders,
            readers=(*reading_functions(tree, name), *(place for read, place in others if read == name)),
            rebinds=name in rebound,
        )
        for name, places in sorted(found.items())
    )


def reading_functions(tree: ScopeTree, name: str) -> tuple[str, ...]:
    """Qualified names of the functions of a file that read a global of it when they run, sorted; a lambda at
    module level is one without a name.
    """
    uses = (use for use in tree.uses.get((tree.module, name), ()) if isinstance(use.node.ctx, ast.Load))
    around = (next((s for s in u.scope.ancestors() if s.kind in ("function", "lambda")), None) for u in uses)
    return tuple(sorted({function.qualname for function in around if function is not None}))


def reads_own(path: Path, name: str, function: str) -> bool:
    """Tell whether a function of that name in a file reads the file's own global of that name."""
    try:
        tree = read_scopes(read_source(path))
    except SourceError:
        return False
    return any(function in reader.split(".") for reader in reading_functions(tree, name))


def _outside(module: ModuleName, path: Path, root: Path, tests: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Names that other files read from the module when they run, with the place."""
    own = path.resolve()
    folders = [folder.resolve() for folder in tests]
    files = (
        (file, data)
        for file, data in files_with_bytes(root)
        if file.resolve() != own and not any(file.resolve().is_relative_to(folder) for folder in folders)
    )
    for file, data in files:
        named = names_module(data, module.name.rpartition(".")[2])
        read = file_or_none(file, data, root) if named else None
        if read is None:
            continue
        for node, scope in walk(read.tree, read.package):
            if isinstance(node, ast.ImportFrom) and scope.function:
                if absolute(node, read.package) in module.spellings:
                    yield from ((alias.name, f"{read.shown}:{node.lineno}") for alias in node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and scope.function:
                dotted = resolve(node, scope)
                if dotted is not None and dotted.rpartition(".")[0] in module.spellings:
                    yield node.attr, f"{read.shown}:{node.lineno}"
