"""Where a repository uses what a module defines: calls of a function, names taken from the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codemods.program.imports import with_packages
from codemods.program.nodes import called_name
from codemods.program.origins import Names, imported, resolve, single, walk
from codemods.program.repository import File, ModuleName, file_or_none, mentioning, python_files, shown_path
from codemods.program.words import words

Kind = Literal["call", "value", "import", "source", "method"]


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One use of a function, outside its own text.

    Attributes:
        path: file, relative to the root.
        line: where.
        function: qualified name of the enclosing function; empty at module level.
        kind: ``call``; ``value`` (passed, stored, wrapped); ``source`` (its text or code is inspected);
            ``import``; ``method``: a call of some object's method of that name, which may be this one.
    """

    path: str
    line: int
    function: str
    kind: Kind


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """A name of the module that another file imports or reads as its attribute."""

    name: str
    path: str
    line: int


_INSPECTORS = words("getsource getsourcelines getsourcefile getclosurevars signature dis findsource")
_CODE = words("__code__ co_consts __closure__ __globals__")


@dataclass(frozen=True, slots=True)
class Usage:
    """Where the files below a root use one module.

    Attributes:
        files: how many files were searched.
        references: the uses of each function that was asked for, through imports, aliases and re-exports.
        taken: names of the module that other files import or read.
        unread: files that seem to import the module but are not valid Python.
    """

    files: int
    references: dict[str, tuple[Reference, ...]]
    taken: tuple[Taken, ...]
    unread: tuple[str, ...]


def find_usage(root: Path, module: ModuleName, functions: Collection[str]) -> Usage:
    """Search all files below ``root``; each is read and parsed at most once.

    Calls of a method are told by its name, and only in files that import the module or what it exports.
    """
    paths = tuple(python_files(root))
    owners = {f"{spelling}.{name}": name for spelling in module.spellings for name in functions}
    wanted = {module.name.rpartition(".")[2], *(part for name in functions for part in name.split("."))}
    parsed: dict[Path, File | None] = {}
    own = {module.name.rpartition(".")[2], "__init__"}
    while True:
        importing = _import_pattern([*owners, *(f"{spelling}.*" for spelling in module.spellings)])
        for path, data in mentioning(paths, wanted):
            if path not in parsed and (path.stem in own or importing.search(data) is not None):
                parsed[path] = file_or_none(path, data, root)
        files = [file for file in parsed.values() if file is not None]
        exported = {
            new: name for file in files for new, name in _reexports(file, owners) if new not in owners
        }
        if not exported:
            break
        owners |= exported
        wanted |= {name.rpartition(".")[2] for name in exported}
    references: dict[str, set[Reference]] = {name: set() for name in functions}
    taken: set[Taken] = set()
    for file in files:
        for item in _uses(file, owners, module):
            if isinstance(item, Taken):
                taken.add(item)
            else:
                references[item[0]].add(item[1])
    return Usage(
        files=len(paths),
        references={name: tuple(sorted(found)) for name, found in references.items()},
        taken=tuple(sorted(taken)),
        unread=tuple(shown_path(path, root) for path, file in sorted(parsed.items()) if file is None),
    )


def _import_pattern(owners: Iterable[str]) -> re.Pattern[bytes]:
    """Match what a file must contain to import, in any way, something from which an owner can be reached."""
    around = {package for owner in owners for package in with_packages(owner)[:-1]}
    names = "|".join(map(re.escape, sorted(around)))
    dynamic = r"import_module|importorskip|__import__|sys\.modules"
    return re.compile(rf"(?:\b(?:from|import)[\s\\]+|,\s*)(?:{names})\b|\bfrom[\s\\]+\.|{dynamic}".encode())


def _reexports(file: File, owners: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names under which a file's top level makes the functions importable from itself."""
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom):
            for made in imported(node, file.package):
                if made.name == "*":
                    for owner, name in owners.items():
                        if owner.rpartition(".")[0] == made.module:
                            yield f"{file.module}.{owner.rpartition('.')[2]}", name
                elif made.path in owners:
                    yield f"{file.module}.{made.bound}", owners[made.path]


def _uses(
    file: File, owners: Mapping[str, str], module: ModuleName
) -> Iterator[Taken | tuple[str, Reference]]:
    """One walk over a file for the functions' uses and the names taken from the module."""
    own = file.module in module.spellings
    called: set[ast.AST] = set()
    inspected: set[ast.AST] = set()
    names = set(owners.values())
    methods = {name.rpartition(".")[2]: name for name in names if "." in name}

    def reference(name: str, node: ast.stmt | ast.expr, scope: Names, kind: Kind) -> tuple[str, Reference]:
        return name, Reference(file.shown, node.end_lineno or node.lineno, scope.function, kind)

    for node, scope in walk(file.tree, file.package):
        if isinstance(node, ast.Call):
            called.add(node.func)
            if called_name(node) in _INSPECTORS:
                inspected.update(node.args)
            match node:
                case ast.Call(ast.Name("getattr"), [taken, asked]) if not own:
                    name = single(asked, scope)
                    if name is not None and resolve(taken, scope) in module.spellings:
                        yield Taken(name, file.shown, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            for made in imported(node, file.package):
                if made.module in module.spellings and not own:
                    yield Taken(str(made.name), file.shown, node.lineno)
                if made.path in owners:
                    yield owners[made.path], Reference(file.shown, node.lineno, scope.function, "import")
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            if isinstance(node, ast.Attribute) and node.attr in _CODE:
                inspected.add(node.value)
            dotted = _own(node, scope, module, names) if own else None
            dotted = dotted or resolve(node, scope)
            if dotted is not None and dotted in owners:
                kind: Kind = "call" if node in called else "source" if node in inspected else "value"
                yield reference(owners[dotted], node, scope, kind)
            elif isinstance(node, ast.Attribute):
                if node.attr in methods and node in called:
                    yield reference(methods[node.attr], node, scope, "method")
                if not own and dotted is not None and dotted.rpartition(".")[0] in module.spellings:
                    yield Taken(node.attr, file.shown, node.lineno)


def _own(node: ast.Name | ast.Attribute, scope: Names, module: ModuleName, names: set[str]) -> str | None:
    """The dotted name of one of the functions, used in the file that defines it."""
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    owner = scope.owner(node.id)
    return f"{module.name}.{node.id}" if owner is not None and owner.parent is None else None
