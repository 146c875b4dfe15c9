"""Names of a module that tests replace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codemods.analysis.source import SourceError, read_source

_SKIPPED = {
    ".git",
    ".hg",
    ".venv",
    "venv",
    "node_modules",
    "__pycache__",
    "build",
    "dist",
    ".mypy_cache",
    ".tox",
}


@dataclass(frozen=True, slots=True, order=True)
class Seam:
    """One replacement: which name, in which file and line."""

    name: str
    path: str
    line: int


def python_files(folder: Path) -> Iterator[Path]:
    """Python files below a folder, in order, without those of environments and builds."""
    if folder.is_file():
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in _SKIPPED:
                yield from python_files(path)
        elif path.suffix == ".py":
            yield path


def find_seams(folders: Iterable[Path], modules: frozenset[str]) -> list[Seam]:
    """Names of the given modules that files in the folders patch, set or assign.

    Raises:
        SourceError: if a file there is not Python: a seam could hide in it.
    """
    found: set[Seam] = set()
    for folder in folders:
        for path in python_files(folder):
            data = path.read_bytes()
            if any(module.rpartition(".")[2].encode() in data for module in modules):
                found.update(_seams_in(path, modules))
    return sorted(found)


def is_star_imported(root: Path, module: str) -> bool:
    """Whether a file below the root may import everything from a module."""
    tail = re.escape(module.rpartition(".")[2])
    pattern = re.compile(rf"from\s+[\w.]*{tail}\s+import\s*\(?\s*\*".encode())
    return any(pattern.search(path.read_bytes()) for path in python_files(root))


def _seams_in(path: Path, modules: frozenset[str]) -> Iterator[Seam]:
    try:
        tree = read_source(path).tree
    except SourceError as error:
        raise SourceError(f"{error} (tests are read to find the names that they replace)") from None
    aliases = _aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for name in _patched(node, aliases, modules):
                yield Seam(name, str(path), node.lineno)
            continue
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        for target in targets:
            if isinstance(target, ast.Attribute) and _path(target.value, aliases) in modules:
                yield Seam(target.attr, str(path), target.lineno)


def _aliases(tree: ast.Module) -> dict[str, str]:
    """What the names bound by a file's imports stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr == "import_module"
            and node.value.args
            and isinstance(node.value.args[0], ast.Constant)
        ):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = str(node.value.args[0].value)
    return found


def _path(node: ast.expr, aliases: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _path(node.value, aliases)
        return None if base is None else f"{base}.{node.attr}"
    return None


def _patched(call: ast.Call, aliases: dict[str, str], modules: frozenset[str]) -> Iterator[str]:
    """Names of the modules that a call could replace: any dotted string, any module with a name as next
    argument.
    """
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    for argument in arguments:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            for module in modules:
                if argument.value.startswith(module + "."):
                    yield argument.value[len(module) + 1 :].partition(".")[0]
    if len(call.args) > 1 and _path(call.args[0], aliases) in modules:
        second = call.args[1]
        if isinstance(second, ast.Constant) and isinstance(second.value, str):
            yield second.value
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name == "multiple" and call.args and _path(call.args[0], aliases) in modules:
        yield from (keyword.arg for keyword in call.keywords if keyword.arg)
