"""Scripts of a repository that look as if they start a training, told from their text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.init import hydra
from ci.init.marks import marks, starts
from ci.init.options import Option, read_options, sub_commands, without_start
from codemods.program import (
    SourceError,
    absolute,
    module_name,
    package_of,
    python_files,
    read_source,
    shown_path,
)

_TESTS = ("test", "tests", "conftest")
_NAMES = ("train", "main", "run", "fit")
_ASIDE = (
    "example",
    "script",
    "tool",
    "bench",
    "demo",
    "sweep",
    "notebook",
    "eval",
    "profile",
    "debug",
    "sample",
)
_TRAINS = {"backward", "step"}
# Who imports these hands the training to a cluster, and another script does it.
_LAUNCHERS = frozenset(["submitit", "simple_slurm", "dask_jobqueue"])
_DEPTH = 3
# What a script that starts has one of: a cheap look before it is parsed.
_WORDS = (b"__main__", b"backward", b".step(", b".fit(", b"parse_args")
_LAST_CALL = re.compile(rb"(^|\n)([^\s#][^\n]*\(|\))[^\n]*\Z")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A script that can be started.

    Attributes:
        path: relative to the repository.
        module: what ``python -m`` calls it; None for a script outside of packages.
        options: the command-line options that it and what it imports declare.
        commands: the sub-commands that it declares.
        holds: what of a training it holds itself.
        reaches: what it and the modules of the repository that it imports hold.
        distributed: whether they begin a process group of processes that a launcher starts.
        launches: whether it hands the training to a cluster.
        packages: what they import, by its first name.
        words: the names in paths, as far as they stand in their text.
        files: its own path and those of the modules of the repository that it imports.
    """

    path: str
    module: str | None
    options: tuple[Option, ...]
    commands: tuple[str, ...]
    holds: frozenset[str]
    reaches: frozenset[str]
    distributed: bool
    launches: bool = False
    packages: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What its golden run is called."""
        stem = Path(self.path).stem
        return Path(self.path).parent.name or "train" if stem == "__main__" else stem

    @property
    def command(self) -> str | None:
        """The sub-command that trains, by its name; None where there are none."""
        named = [name for name in self.commands if any(word in name for word in _NAMES)]
        return next(iter([*named, *self.commands]), None)

    @property
    def likely(self) -> float:
        """How much speaks for it: what it holds itself, what it reaches, its name and place."""
        words = Path(self.path).with_suffix("").as_posix().lower()
        named = any(word in Path(self.path).stem.lower() for word in _NAMES) or "__main__" in words
        aside = self.launches or any(word in words for word in _ASIDE)
        return 2 * len(self.holds) + len(self.reaches) + named - 3 * aside - 6 * self.launches


def find_entry_points(root: Path, notify: Callable[[str], None]) -> list[EntryPoint]:
    """All scripts that train, the likeliest first."""
    files = [path for path in python_files(root) if not _is_test(path, root)]
    notify(f"looking for what trains in {len(files)} file{'' if len(files) == 1 else 's'}")
    read: dict[Path, _Facts | None] = {}
    found = [
        entry for path in files if (entry := read_entry_point(path, root, read, script=True)) is not None
    ]
    found = [entry for entry in found if entry.reaches >= _TRAINS]
    return sorted(found, key=lambda entry: (-entry.likely, entry.path.count("/"), entry.path))


def unreadable(paths: Iterable[Path], root: Path) -> Iterator[str]:
    """Why files are no Python that can be read, a line for each that isn't."""
    for path in paths:
        try:
            read_source(path, shown_path(path, root))
        except SourceError as error:
            yield str(error)


def read_entry_point(
    path: Path, root: Path, read: dict[Path, _Facts | None] | None = None, *, script: bool = False
) -> EntryPoint | None:
    """What is known of one file; None if it is not valid Python, or with ``script`` is none that starts."""
    known = {} if read is None else read
    if script and path.name != "__main__.py" and not _may_start(path):
        return None
    facts = _facts(path, known)
    if facts is None or (script and path.name != "__main__.py" and not starts(facts.tree)):
        return None
    seen = {path}
    every = [facts, *_imported(facts, path, root, _DEPTH, seen, known)]
    packaged = (path.parent / "__init__.py").exists()
    module = module_name(path, root).name
    options = tuple(dict.fromkeys([*facts.options, *(o for f in every[1:] for o in f.offered)]))
    words = frozenset().union(*(f.words for f in every))
    return EntryPoint(
        path=shown_path(path, root),
        module=(module.removesuffix(".__main__") if packaged else None),
        options=options,
        commands=tuple(dict.fromkeys(name for f in every for name in f.commands)),
        holds=facts.marks,
        reaches=frozenset().union(*(f.marks for f in every)),
        distributed=_launched(options, words, set().union(*(f.processes for f in every))),
        launches=not _LAUNCHERS.isdisjoint(facts.packages),
        packages=frozenset().union(*(f.packages for f in every)),
        words=words,
        files=frozenset(shown_path(file, root) for file in seen),
    )


def _launched(options: Iterable[Option], words: frozenset[str], processes: set[str]) -> bool:
    """Whether a launcher starts its processes: it spawns none, and is not told how many there are."""
    told = any(option.role == "world-size" for option in options) and "WORLD_SIZE" not in words
    return processes == {"init_process_group"} and not told


def _is_test(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).with_suffix("").parts
    return any(part in _TESTS or part.startswith("test_") for part in parts)


def _may_start(path: Path) -> bool:
    text = path.read_bytes()
    return any(word in text for word in _WORDS) or _LAST_CALL.search(text.rstrip()) is not None


@dataclass(frozen=True, slots=True)
class _Facts:
    tree: ast.Module
    options: tuple[Option, ...]
    offered: tuple[Option, ...]  # to those who import it
    commands: tuple[str, ...]
    marks: frozenset[str]
    processes: set[str]  # what it calls of a group of processes
    packages: frozenset[str]
    words: frozenset[str]


def _facts(path: Path, read: dict[Path, _Facts | None]) -> _Facts | None:
    if path not in read:
        read[path] = _read(path)
    return read[path]


def _read(path: Path) -> _Facts | None:
    try:
        tree = read_source(path).tree
    except SourceError:
        return None
    names = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    options = tuple(read_options(tree, path))
    return _Facts(
        tree,
        options,
        tuple(read_options(without_start(tree), path)),
        tuple(sub_commands(tree)),
        marks(tree),
        names & {"init_process_group", "spawn"},
        frozenset(_heads(tree)),
        names_in(_texts(tree)),
    )


def _imported(
    importer: _Facts, path: Path, root: Path, depth: int, seen: set[Path], read: dict[Path, _Facts | None]
) -> Iterator[_Facts]:
    """The facts of the repository's modules that a file imports, and of those that they import."""
    if not depth:
        return
    package = package_of(path, module_name(path, root).name)
    named = (name for node in ast.walk(importer.tree) for name in _names(node, package))
    for name in (*named, *hydra.modules(importer.tree, path)):
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
    """The names of folders and files in texts that may be paths, or options with one."""
    return frozenset(part for text in texts for part in re.split(r"[/\\=]", text))


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _heads(tree: ast.Module) -> Iterator[str]:
    """The packages that a file imports from, wherever in it."""
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
