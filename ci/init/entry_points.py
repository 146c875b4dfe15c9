"""Scripts of a repository that look as if they start a training, told from their text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codemods.facts import (
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
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A script that can be started.

    Attributes:
        path: relative to the repository.
        module: what ``python -m`` calls it; None for a script outside of packages.
        options: the command-line options that it declares.
        event_files: names of JSON-lines files in its text and in that of the modules it imports.
        trains: whether it, or a module of the repository that it imports, steps an optimizer after a
            backward pass.
    """

    path: str
    module: str | None
    options: tuple[str, ...]
    event_files: tuple[str, ...]
    trains: bool

    @property
    def name(self) -> str:
        """What its golden run is called."""
        stem = Path(self.path).stem
        return Path(self.path).parent.name or "train" if stem == "__main__" else stem

    def option(self, *wanted: str) -> str | None:
        """The first of these options that it has."""
        return next((option for option in wanted if option in self.options), None)


def find_entry_points(root: Path) -> list[EntryPoint]:
    """All scripts that train, the likeliest first."""
    found = [entry for path in _scripts(root) if (entry := read_entry_point(path, root)) and entry.trains]
    return sorted(found, key=lambda entry: (not _named_so(entry), entry.path.count("/"), entry.path))


def read_entry_point(path: Path, root: Path) -> EntryPoint | None:
    """What is known of one script; None if it is not valid Python."""
    facts = _facts(path)
    if facts is None:
        return None
    every = [facts, *_imported(facts, path, root, _DEPTH, {path})]
    packaged = (path.parent / "__init__.py").exists()
    module = module_name(path, root).name
    return EntryPoint(
        path=shown_path(path, root),
        module=(module.removesuffix(".__main__") if packaged else None),
        options=tuple(dict.fromkeys(option for f in every for option in f.options)),
        event_files=tuple(dict.fromkeys(name for f in every for name in f.event_files)),
        trains=any(f.backward for f in every) and any(f.steps for f in every),
    )


def _named_so(entry: EntryPoint) -> bool:
    return any(word in Path(entry.path).stem for word in _NAMES)


def _scripts(root: Path) -> Iterator[Path]:
    for path in python_files(root):
        parts = path.relative_to(root).with_suffix("").parts
        if any(part in _TESTS or part.startswith("test_") for part in parts):
            continue
        text = path.read_bytes()
        if path.name == "__main__.py" or b"__main__" in text:
            yield path


@dataclass(frozen=True, slots=True)
class _Facts:
    tree: ast.Module
    options: tuple[str, ...]
    event_files: tuple[str, ...]
    backward: bool
    steps: bool


def _facts(path: Path) -> _Facts | None:
    try:
        tree = read_source(path).tree
    except SourceError:
        return None
    options, files, methods = [], [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _called(node)
            methods.add(name)
            if name in ("add_argument", "option"):
                options += [
                    a.value
                    for a in node.args
                    if isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value.startswith("--")
                ]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".jsonl"):
            files.append(Path(node.value).name)
    return _Facts(tree, tuple(options), tuple(files), "backward" in methods, "step" in methods)


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _imported(importer: _Facts, path: Path, root: Path, depth: int, seen: set[Path]) -> Iterator[_Facts]:
    """The facts of the repository's modules that a file imports, and of those that they import."""
    if not depth:
        return
    package = package_of(path, module_name(path, root).name)
    for node in ast.walk(importer.tree):
        for name in _names(node, package):
            found = _file_of(name, path, root)
            if found is not None and found not in seen:
                seen.add(found)
                facts = _facts(found)
                if facts is not None:
                    yield facts
                    yield from _imported(facts, found, root, depth - 1, seen)


def _names(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = absolute(node, package)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _file_of(module: str, importer: Path, root: Path) -> Path | None:
    parts = module.split(".")
    for folder in (root, root / "src", importer.parent):
        for candidate in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
            if candidate.is_file():
                return candidate
    return None
