"""Scripts of a repository that start a training, known from their text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.init.marks import marks, starts
from ci.init.options import Option, read_options, sub_commands, without_start
from codemods.api import SourceError, absolute, module_name, package_of, python_files, read_source, shown_path

_TESTS = ("test", "tests", "conftest")
_NAMES = ("train", "main", "run", "fit")
_ASIDE = (
    *("example", "script", "tool", "bench", "demo", "sweep", "notebook", "eval", "profile", "debug"),
    *("sample", "submit", "slurm"),
)
_TRAINS = {"backward", "step"}
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A script that can be started.

    Attributes:
        path: relative to the repository.
        module: the name for ``python -m``; None for a script outside of packages.
        options: the command-line options that it and its imports declare.
        commands: the sub-commands that it declares.
        holds: the marks of a training in its own text.
        reaches: those of it and of the modules of the repository that it imports.
        distributed: they begin a process group.
        packages: the first names of what they import.
        words: the names in paths that stand in their text.
        files: its own path and those of the modules of the repository that it imports.
    """

    path: str
    module: str | None
    options: tuple[Option, ...]
    commands: tuple[str, ...]
    holds: frozenset[str]
    reaches: frozenset[str]
    distributed: bool
    packages: frozenset[str]
    words: frozenset[str]
    files: frozenset[str]

    @property
    def name(self) -> str:
        """The name of its golden run."""
        stem = Path(self.path).stem
        name = Path(self.path).parent.name or "train" if stem == "__main__" else stem
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-._") or "train"

    @property
    def command(self) -> str | None:
        """The sub-command that trains, by its name; None where there are none."""
        named = [name for name in self.commands if any(word in name for word in _NAMES)]
        return next(iter([*named, *self.commands]), None)

    @property
    def likely(self) -> float:
        """The weight of what it holds itself, what it reaches, its name and place."""
        words = Path(self.path).with_suffix("").as_posix().lower()
        named = any(word in Path(self.path).stem.lower() for word in _NAMES) or "__main__" in words
        aside = any(word in words for word in _ASIDE)
        return 2 * len(self.holds) + len(self.reaches) + named - 3 * aside


@dataclass(frozen=True, slots=True)
class _Facts:
    tree: ast.Module
    options: tuple[Option, ...]
    offered: tuple[Option, ...]  # to those who import it
    commands: tuple[str, ...]
    marks: frozenset[str]
    distributed: bool
    packages: frozenset[str]
    words: frozenset[str]


def find_entry_points(root: Path, notify: Callable[[str], None]) -> list[EntryPoint]:
    """Return all scripts that train, the likeliest first."""
    files = [path for path in python_files(root) if not _is_test(path, root)]
    notify(f"looking for what trains in {len(files)} file{'' if len(files) == 1 else 's'}")
    read: dict[Path, _Facts | None] = {}
    found = [entry for path in files if (entry := read_entry_point(path, root, read)) is not None]
    found = [entry for entry in found if entry.reaches >= _TRAINS and _starts(root / entry.path, read)]
    return sorted(found, key=lambda entry: (-entry.likely, entry.path.count("/"), entry.path))


def unreadable(paths: Iterable[Path], root: Path) -> Iterator[str]:
    """Yield why files are no Python that can be read, a line for each that isn't."""
    for path in paths:
        try:
            read_source(path, shown_path(path, root))
        except SourceError as error:
            yield str(error)


def read_entry_point(
    path: Path, root: Path, read: dict[Path, _Facts | None] | None = None
) -> EntryPoint | None:
    """Return what is known of one file; None if it is not valid Python."""
    known = {} if read is None else read
    facts = _facts(path, known)
    if facts is None:
        return None
    seen = {path}
    every = [facts, *_imported(facts, path, root, _DEPTH, seen, known)]
    module = module_name(path, root).name
    return EntryPoint(
        path=shown_path(path, root),
        module=module.removesuffix(".__main__") if (path.parent / "__init__.py").exists() else None,
        options=tuple(dict.fromkeys([*facts.options, *(o for f in every[1:] for o in f.offered)])),
        commands=tuple(dict.fromkeys(name for f in every for name in f.commands)),
        holds=facts.marks,
        reaches=frozenset().union(*(f.marks for f in every)),
        distributed=any(f.distributed for f in every),
        packages=frozenset().union(*(f.packages for f in every)),
        words=frozenset().union(*(f.words for f in every)),
        files=frozenset(shown_path(file, root) for file in seen),
    )


def _starts(path: Path, read: dict[Path, _Facts | None]) -> bool:
    facts = _facts(path, read)
    return facts is not None and (path.name == "__main__.py" or starts(facts.tree))


def _is_test(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).with_suffix("").parts
    return any(part in _TESTS or part.startswith("test_") for part in parts)


def _facts(path: Path, read: dict[Path, _Facts | None]) -> _Facts | None:
    if path not in read:
        read[path] = _read(path)
    return read[path]


def _read(path: Path) -> _Facts | None:
    try:
        tree = read_source(path).tree
    except SourceError:
        return None
    return _Facts(
        tree,
        options=tuple(read_options(tree)),
        offered=tuple(read_options(without_start(tree))),
        commands=tuple(sub_commands(tree)),
        marks=marks(tree),
        distributed=any(
            isinstance(n, ast.Attribute) and n.attr == "init_process_group" for n in ast.walk(tree)
        ),
        packages=frozenset(_heads(tree)),
        words=names_in(
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ),
    )


def _imported(
    importer: _Facts, path: Path, root: Path, depth: int, seen: set[Path], read: dict[Path, _Facts | None]
) -> Iterator[_Facts]:
    """Yield the facts of the repository's modules that a file imports, and of those that they import."""
    if not depth:
        return
    package = package_of(path, module_name(path, root).name)
    for name in (name for node in ast.walk(importer.tree) for name in _names(node, package)):
        found = _file_of(name, path, root)
        if found is not None and found not in seen:
            seen.add(found)
            facts = _facts(found, read)
            if facts is not None:
                yield facts
                yield from _imported(facts, found, root, depth - 1, seen, read)


def _names(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = absolute(node, package)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of folders and files in texts that may be paths, or options with one."""
    return frozenset(part for text in texts for part in re.split(r"[/\\=]", text))


def _heads(tree: ast.Module) -> Iterator[str]:
    """Yield the packages that a file imports from, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def _file_of(module: str, importer: Path, root: Path) -> Path | None:
    parts = module.split(".")
    for folder in (root, root / "src", importer.parent):
        for candidate in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
            if candidate.is_file():
                return candidate
    return None
