"""Modules of a repository that hide one of the standard library or of a tool that a check runs."""

from __future__ import annotations

import functools
import importlib.machinery
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ci.changes.compare import Item
from ci.changes.place import Side
from ci.changes.readings import run_names
from golden.record import load_run
from golden.record.files import RUNS_FOLDER
from golden.trace.errors import GoldenError

_TOOLS = ("esper-harness", "import-linter", "pytest")
# Python runs them as it starts.
_AT_START = frozenset({"sitecustomize", "usercustomize"})
# CPython's own tests, which no tool loads.
_UNUSED = frozenset({"test"})
_REQUIRED = re.compile(r"[\w.-]+")


def shadows(side: Side) -> Iterator[Item]:
    """Yield modules in folders that come on the path before what is installed."""
    for folder in sorted(_folders(side)):
        for path in sorted(folder.iterdir()):
            name = _module(path)
            if name is not None and name in _hidden():
                shown = path.relative_to(side.root.resolve()).as_posix()
                # What starts with Python may not change, either; others hide a tool however they read.
                content = path.read_bytes() if name in _AT_START and path.is_file() else None
                told = f"{shown} hides the module {name}"
                yield Item(f"shadows.{name}", shown, shown, content, told, "go")


def _folders(side: Side) -> set[Path]:
    """The root, the folders of the module path, and those of scripts that runs start."""
    names = {".", *side.config.pythonpath}
    for run in run_names(side.config):
        try:
            found = load_run(side.root / RUNS_FOLDER / f"{run.partition('.')[0]}.toml")
        except (GoldenError, OSError):
            continue  # listed as a run file
        scripts = [Path(found.folder, word) for word in found.command if word.endswith(".py")]
        names |= {found.folder, "src", *(str(script.parent) for script in scripts)}
    root = side.root.resolve()
    folders = {(root / name).resolve() for name in names}
    return {folder for folder in folders if folder.is_dir() and folder.is_relative_to(root)}


def _module(path: Path) -> str | None:
    if path.is_dir():
        return path.name if (path / "__init__.py").is_file() else None
    ends = importlib.machinery.all_suffixes()
    return next((path.name.removesuffix(end) for end in ends if path.name.endswith(end)), None)


@functools.cache
def _hidden() -> frozenset[str]:
    """Modules of the standard library, and of what the tools and the plugins of pytest consist of."""
    needed = _needed([*_TOOLS, *_plugins()])
    named = {
        module
        for module, owners in metadata.packages_distributions().items()
        if not needed.isdisjoint(map(_plain, owners))
    }
    return frozenset({*sys.stdlib_module_names, *named}) - _UNUSED | _AT_START


def _plugins() -> list[str]:
    return [point.dist.name for point in metadata.entry_points(group="pytest11") if point.dist]


def _needed(names: list[str]) -> set[str]:
    found: set[str] = set()
    left = [_plain(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        left += [_plain(match[0]) for each in required if (match := _REQUIRED.match(each))]
    return found


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
