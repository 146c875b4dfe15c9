"""The files of a repository, their trees and dotted names, and the settings in its ``pyproject.toml``."""

from __future__ import annotations

import ast
import functools
import itertools
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codemods.program.source import SourceError, shared_source

_SKIPPED = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}
_MARKERS = ("pyproject.toml", ".git", "setup.cfg", "setup.py")

# Settings, and texts with commands or examples.
_SETTINGS = frozenset(
    [".cfg", ".ini", ".json", ".toml", ".yaml", ".yml", ".ipynb", ".md", ".rst", ".sh", ".txt"]
)
_LONGEST_SETTING = 100_000
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")
# What stands before a module's name, and before and after one in a row of a longer import.
_BEFORE_MODULE = re.compile(rb"[.:/\\'\"]$|\b(?:from|import)\b")
_ROW, _AFTER_ROW = re.compile(rb"[\s\w,]*"), re.compile(rb"\s*(?:[,)#\\]|as\b|$)")
_IMPORTED = re.compile(rb"^\s*(?:from|import)\s+([A-Za-z_][\w.]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModuleName:
    """How other files may spell a module: ``name`` by its package, ``aliases`` from folders further out."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """All of them, the proper one first."""
        return (self.name, *self.aliases)

    def within(self, dotted: str) -> str | None:
        """Return the rest of a dotted name below this module: ``""`` for the module itself, None if
        elsewhere.
        """
        found = (spelling for spelling in self.spellings if f"{dotted}.".startswith(f"{spelling}."))
        return next((dotted[len(spelling) + 1 :] for spelling in found), None)


def project_root(path: Path) -> Path:
    """The nearest folder above a file that looks like a project; else the current one, if the file is below
    it, or the file's own folder.
    """
    folder = path.resolve().parent
    around = (folder, *folder.parents)
    marked = (each for each in around if any((each / marker).exists() for marker in _MARKERS))
    return next(marked, Path.cwd() if Path.cwd() in around else folder)


def module_name(path: Path, root: Path) -> ModuleName:
    """The dotted name of a file: from the outermost package folder on, ``root`` itself included."""
    path, root = path.resolve(), root.resolve()
    folders = [path.parent, *path.parent.parents]
    if root in folders:
        folders = folders[: folders.index(root)] + packages_around(root / "__init__.py")
    else:
        folders = packages_around(path)
    tail = [] if path.stem == "__init__" else [path.stem]
    dotted, proper = [], 0
    for depth in range(len(folders) + 1):
        parts = [folder.name for folder in reversed(folders[:depth])] + tail
        if parts:
            dotted.append(".".join(parts))
            if depth and (folders[depth - 1] / "__init__.py").exists():
                proper = len(dotted) - 1
    dotted = dotted or [path.parent.name]
    return ModuleName(dotted[proper], tuple(name for index, name in enumerate(dotted) if index > proper))


def packages_around(path: Path) -> list[Path]:
    """The package folders that a file lies in, innermost first.

    A folder without ``__init__.py`` is one, too, where the project spells its dotted name and it lies in a
    package, or the file is imported by that name or imports others by it; unless the file imports others
    beside it without that name, as a script does.
    """
    near = list(itertools.takewhile(_is_package, path.parents))
    if not path.is_absolute() or len(near) == len(path.parents) - 1:
        return near
    top = project_root(path)
    below = list(itertools.takewhile(lambda folder: folder != top, path.parents))
    outer = [depth for depth, folder in enumerate(below) if depth > len(near) and _is_package(folder)]
    if not below or (not near and any(_imported_beside(path))):
        return near
    if not outer:
        return near or _named_folders(path, below, top)
    around = below[: outer[-1] + 1]
    return around if _spelled(".".join(folder.name for folder in reversed(around)), top) else near


def _named_folders(path: Path, below: list[Path], top: Path) -> list[Path]:
    """Folders that are no packages, by whose names a file is imported, or imports others."""
    data = path.read_bytes() if path.is_file() else b""
    for depth in range(len(below), 0, -1):
        outermost = below[depth - 1]
        for name in map(bytes.decode, _imported_from(outermost.name).findall(data)):
            if (outermost / f"{name}.py").is_file() or (outermost / name).is_dir():
                return below[:depth]
    return [] if b"__main__" in data else below[: _depth_of_name(path, below, top)]


def _depth_of_name(path: Path, below: list[Path], top: Path) -> int:
    """How many of its folders the dotted name has by which the project imports a file; 0 for none."""
    names = {d: ".".join(folder.name for folder in reversed(below[:d])) for d in range(len(below), 0, -1)}
    return next((depth for depth, name in names.items() if path.stem in _spelled(name, top)), 0)


def script_imported(path: Path) -> str | None:
    """The dotted name by which the project imports a file in no package that is a script, too."""
    top = project_root(path)
    below = list(itertools.takewhile(lambda folder: folder != top, path.parents))
    if packages_around(path) or any(_imported_beside(path)) or top not in path.parents:
        return None
    folders = below[: _depth_of_name(path, below, top)]
    return ".".join([*(folder.name for folder in reversed(folders)), path.stem]) if folders else None


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


def _imported_beside(path: Path) -> Iterator[str]:
    """Modules and packages beside a file that it imports, or imports from, as if they were at the top."""
    try:
        modules = _IMPORTED.findall(path.read_bytes())
    except OSError:
        return
    for module in map(bytes.decode, modules):
        if any(place.is_file() for place in module_files(module, [path.parent])):
            yield module.partition(".")[0]


def imported_as_script(path: Path) -> str | None:
    """A module beside a file of a package that it can import only where it is run by its path, unless a file
    of the folder says where modules are looked for.
    """
    base = import_base(path)
    beside = (each for each in path.parent.glob("*.py") if each.is_file())
    if any(b"sys.path" in each.read_bytes() for each in beside):
        return None
    places = [base, *(place for place in map(Path, sys.path) if place.resolve() != path.parent)]
    for head in _imported_beside(path) if path.parent != base else ():
        known = any((place / head).is_dir() or (place / f"{head}.py").is_file() for place in places)
        if not known and head not in sys.stdlib_module_names:
            return head
    return None


def _imported_from(dotted: str) -> re.Pattern[bytes]:
    """A pattern of imports of a folder's modules by its dotted name; its group is the module."""
    named = rb"^\s*(?:from|import)\s+" + re.escape(dotted).encode()
    return re.compile(named + rb"(?:\.|\s+import\s+\(?\s*)([A-Za-z_]\w*)", re.MULTILINE)


@functools.lru_cache(maxsize=256)
def _spelled(dotted: str, top: Path) -> frozenset[str]:
    """Modules of a folder that some file of a project imports by its dotted name."""
    found = (_imported_from(dotted).findall(data) for _, data in mentioning(python_files(top), [dotted]))
    return frozenset(map(bytes.decode, itertools.chain.from_iterable(found)))


def import_base(path: Path) -> Path:
    """The folder above the outermost package around a file."""
    around = packages_around(path)
    return around[-1].parent if around else path.parent


def dotted_name(path: Path, base: Path) -> str:
    """A file's or folder's dotted name below a base."""
    relative = path.relative_to(base)
    parts = list(relative.with_suffix("").parts if relative.suffix == ".py" else relative.parts)
    if parts and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def folder_package(path: Path) -> str:
    """The package whose folder a file lies in, from the outermost one on; empty if it lies in none."""
    return dotted_name(path.parent, import_base(path))


def module_files(module: str, folders: Iterable[Path]) -> Iterator[Path]:
    """Where a module may be below some folders, in the order in which it is looked for."""
    for folder in folders:
        place = folder.joinpath(*module.split("."))
        yield place / "__init__.py"
        yield place.with_suffix(".py")


def is_below(module: str, folders: Iterable[Path]) -> bool:
    """Tell whether there is a module, or a folder that may be a package, below some folders."""
    places = (folder.joinpath(*module.split(".")) for folder in folders)
    return any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)


def package_of(path: Path, module: str) -> str:
    """The package against which a file's relative imports are resolved."""
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def python_files(folder: Path) -> Iterator[Path]:
    """All Python files below a folder (or the file itself), sorted; no environments or build folders.

    What has such a name and is no file that can be read is left out; `unreadable_files` tells.
    """
    return (path for path, kind in _named_python(folder) if kind is None)


Files = Callable[[Path], Iterable[tuple[Path, bytes]]]
"""Gives the Python files below a folder with their bytes."""


def files_with_bytes(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """All Python files below a folder with their bytes."""
    return ((path, path.read_bytes()) for path in python_files(folder))


def setting_files(folder: Path) -> Iterator[bytes]:
    """The contents of files below a folder that may name a program's functions and classes; long ones are
    data.
    """
    for name in files_below(folder):
        path = Path(name)
        if path.suffix in _SETTINGS and no_file(path) is None and path.stat().st_size <= _LONGEST_SETTING:
            yield path.read_bytes()


def unreadable_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield paths named like Python files below a folder that can't be read, with what they are instead."""
    return ((path, kind) for path, kind in _named_python(folder) if kind is not None)


def _named_python(folder: Path) -> Iterator[tuple[Path, str | None]]:
    if folder.is_file():
        yield folder, None
        return
    for path in files_below(folder):
        if path.endswith(".py"):
            yield Path(path), no_file(path)


def files_below(folder: Path) -> Iterator[str]:
    """Paths of all files in a project's own folders."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_project_folder(where, name))
        yield from (os.path.join(where, name) for name in sorted(files))  # noqa: PTH118 (speed)


def no_file(path: str | Path) -> str | None:
    """Why a path can't be read as a file; None if it can."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (speed)
    except FileNotFoundError:
        return "a link to nothing" if os.path.islink(path) else None  # noqa: PTH114 (speed)
    except OSError as error:
        return error.strerror or "unreadable"
    if stat.S_ISREG(mode):
        return None if os.access(path, os.R_OK) else "not readable by this user"
    return "a folder" if stat.S_ISDIR(mode) else "no regular file"


def is_project_folder(where: str, name: str) -> bool:
    """Tell whether a folder may hold a project's own files: no hidden folder, environment or build folder."""
    if is_skipped(name):
        return False
    return not os.path.exists(os.path.join(where, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118 (speed)


def is_skipped(name: str) -> bool:
    """Tell whether a folder holds none of a project's own files, by its name."""
    return name in _SKIPPED or name.startswith(".")


@functools.lru_cache(maxsize=64)
def _word(word: str) -> re.Pattern[bytes]:
    # In a text a word may follow an escape: "\\nmodule". What is searched for comes first: that is fast.
    given = re.escape(word.encode())
    return re.compile(rb"%b(?!\w)(?<=(?<!\w)%b|(?<=\\[abfnrtv])%b)" % (given, given, given))


def says(data: bytes, word: str) -> bool:
    """Tell whether a file has a word, as a whole and not only in comments."""
    if word.encode() not in data:
        return False
    return any(True for _ in _said(data, word))


def _said(data: bytes, word: str) -> Iterator[tuple[bytes, bytes]]:
    """Where a file has a word: what stands before and after it on its line."""
    for found in _word(word).finditer(data):
        before = data[data.rfind(b"\n", 0, found.start()) + 1 : found.start()]
        code, comment, _ = before.partition(b"#")
        if not comment or b'"' in code or b"'" in code:
            yield before, data[found.end() : data.find(b"\n", found.end()) % (len(data) + 1)]


@functools.lru_cache(maxsize=4096)
def names_module(data: bytes, word: str) -> bool:
    """Tell whether a file may name a module: after a dot or the like, or in an import; not only in prose."""
    return word.encode() in data and any(
        _BEFORE_MODULE.search(before) or (_ROW.fullmatch(before) and _AFTER_ROW.match(after))
        for before, after in _said(data, word)
    )


def mentioning(files: Iterable[Path], words: Iterable[str]) -> Iterator[tuple[Path, bytes]]:
    """Those files that have one of the words, with their bytes; unreadable ones are left out."""
    wanted = list(words)
    for path in files:
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if any(says(data, word) for word in wanted):
            yield path, data


def shown_path(path: Path, root: Path) -> str:
    """A path as reports print it: relative to the root, with forward slashes."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return Path(os.path.relpath(path, root)).as_posix()


@dataclass(frozen=True, slots=True)
class File:
    """A file's path as reports print it, its module and that one's package, its tree."""

    shown: str
    module: str
    package: str
    tree: ast.Module


def read_file(path: Path, data: bytes, root: Path) -> File:
    """A file of a project by its bytes; its tree is shared by all who read it.

    Raises:
        SourceError: if it is not valid Python.
    """
    shown = shown_path(path, root)
    tree = shared_source(data, shown).tree
    module = module_name(path, root).name
    return File(shown, module, package_of(path, module), tree)


def file_or_none(path: Path, data: bytes, root: Path) -> File | None:
    """The same; None if it is not valid Python."""
    try:
        return read_file(path, data, root)
    except SourceError:
        return None


def read_tools(path: Path, shown: str | None = None) -> dict[str, Any] | None:
    """The tables below ``[tool]`` in a ``pyproject.toml``; None if there is no such file.

    Raises:
        SourceError: for a file that can't be read or is not TOML.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(f"{shown or path}: can't be read: {error.strerror}") from None
    return parse_tools(data, shown or str(path))


def parse_tools(data: bytes, shown: str) -> dict[str, Any]:
    """The tables below ``[tool]`` in the bytes of a ``pyproject.toml``; raises as `read_tools`."""
    import tomllib

    try:
        text = data.decode()
        tools = tomllib.loads(text).get("tool", {})
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{shown}:{line}: not valid TOML: not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        what = str(error)
        if place := _PLACE.search(what):
            where, what = ":".join(place.groups()), what[: place.start()].strip()
            raise SourceError(f"{shown}:{where}: not valid TOML: {what}") from None
        last = len(text.splitlines()) or 1
        raise SourceError(f"{shown}:{last}: not valid TOML: {what}") from None
    if not isinstance(tools, dict):
        raise SourceError(f"{shown}:1: `tool` must be a table")
    return tools
