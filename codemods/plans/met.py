"""Meanings of new files and names in a project: names of packages, imports that wait for them, readers."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from codemods.plans.site import Site
from codemods.plans.stars import spreads
from codemods.program.effects import Effect
from codemods.program.git import Git
from codemods.program.imports import Import
from codemods.program.loading import Loading
from codemods.program.modules import Find, effects_of
from codemods.program.nodes import called_name
from codemods.program.origins import absolute, imported
from codemods.program.patches import ANY_NAME, replacing_of
from codemods.program.repository import (
    ModuleName,
    file_or_none,
    module_name,
    package_of,
    packages_around,
    shown_path,
)
from codemods.program.source import SourceError, read_source, shared_tree
from codemods.program.surroundings import Surroundings
from codemods.program.walk import read_scopes
from codemods.rewrites.naming import Met

_LOOK_UPS = ("__import__", "find_loader", "find_spec", "import_module", "importorskip")
_WALKS = re.compile(rb"\b(iter_modules|walk_packages)\b")
_LISTS = (
    re.compile(rb"\b(glob|iglob|iterdir|listdir|rglob|scandir)\b"),
    re.compile(rb"\b__(file|path)__\b"),
    re.compile(rb"\.py['\"]"),
)
_BY_PATH = re.compile(rb"\b(spec_from_file_location|SourceFileLoader|load_source|run_path)\b")
_MODULES = re.compile(rb"\bpy[_-]modules\b")
_SETTINGS = ("pyproject.toml", "setup.cfg", "setup.py")


def met_by_new_file(path: Path, module: str, surroundings: Surroundings) -> str | None:
    """Why a new file would be met by something; None if it is not."""
    initial = path.parent / "__init__.py"
    if initial.is_file() and initial != surroundings.path:
        package = read_source(initial)
        scopes = read_scopes(package)
        bound = (scopes.module, path.stem) in scopes.binders
        there = Surroundings(package, initial, surroundings.root, surroundings.files)
        if bound or there.late_star(0, path.stem) is not None:
            return f"{path.stem} means something in {shown_path(initial, surroundings.root)} already"
    for file, data in surroundings.files():
        if lists_modules(file, data, path):
            what = "lists the files of its folder, of which it would be one; choose another folder"
            return f"{shown_path(file, surroundings.root)} {what}"
        if path.stem.encode() in data and file != surroundings.path:
            found = file_or_none(file, data, surroundings.root)
            line = None if found is None else next(_waiting(found.tree, module, found.package), None)
            if found is not None and line is not None:
                return f"{found.shown}:{line} imports {module}, which would be there"
    return None


def lists_modules(file: Path, data: bytes, new: Path) -> bool:
    """Tell whether a file lists the modules of a new one's folder: those beside it, or of a package that it
    names.
    """
    folder = new.parent
    if _WALKS.search(data) is not None:
        above = file.name == "__init__.py" and file.parent in folder.parents
        if file.parent == folder or above or folder.name.encode() in data:
            return True
    beside = file.parent == new.parent and file.name != "setup.py"
    return beside and all(pattern.search(data) is not None for pattern in _LISTS)


def names_met(site: Site) -> Met:
    """Tells of a name that the source gains beside lifted functions whether others get or mean it."""
    around, layout = site.surroundings, site.layout
    files = site.overlay.files(layout.root)
    spread = cache(lambda: spreads(files, layout.root, layout.rest, around.source.tree))
    return lambda name: around.taken(name) or (not name.startswith("_") and spread())


def _waiting(tree: ast.Module, module: str, package: str) -> Iterator[int]:
    """Lines that import a module if it is there, or look for it."""
    head, _, tail = module.rpartition(".")
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                if any(alias.name == module for alias in node.names):
                    yield node.lineno
            case ast.ImportFrom():
                whole = absolute(node, package)
                if whole == module or (whole == head and any(alias.name == tail for alias in node.names)):
                    yield node.lineno
            case ast.Call(args=[ast.Constant(value=str() as text), *_]) if text == module:
                if called_name(node) in _LOOK_UPS:
                    yield node.lineno


def not_loaded_alike(site: Site, path: Path) -> tuple[str, str] | None:
    """The code and the reason for which a target is not loaded as the source is; None if it is."""
    module, around = site.layout.dotted(path), site.surroundings
    if site.layout.frozen or module is None or path in site.overlay.made:
        return None
    if (why := loaded_otherwise(path, module, around)) is not None:
        return "loaded-otherwise", why
    if not site.overlay.exists(path) and (why := loaded_on_the_way(path, around)) is not None:
        return "import-effects", why
    return None


def loaded_otherwise(path: Path, module: str, surroundings: Surroundings) -> str | None:
    """Why a new file may be missing, or not be found, where the source is loaded; None if it is there too."""
    root, source = surroundings.root, surroundings.path
    if _is_ignored(path, source):
        return f"git ignores {shown_path(path, root)}"
    listed = re.compile(rb"\b%b\b" % re.escape(source.stem.encode()))
    for name in _SETTINGS if "." not in module else ():
        data = (root / name).read_bytes() if (root / name).is_file() else b""
        if _MODULES.search(data) and listed.search(data) and path.stem.encode() not in data:
            return f"{name} lists its modules, {source.stem} and not {path.stem}"
    for file, data in surroundings.files():
        if source.name.encode() in data and _BY_PATH.search(data):
            return f"{shown_path(file, root)} loads {source.name} by its path"
    return None


def _is_ignored(path: Path, source: Path) -> bool:
    """Tell whether git ignores a file, and not the one beside it that it is made of."""
    folder = next((each for each in path.parents if (each / ".git").exists()), None)
    if folder is None:
        return False
    given = b"\0".join(map(os.fsencode, (path, source)))
    try:
        told = Git(folder, "").run("check-ignore", "--stdin", "-z", given=given)
    except SourceError:
        # Git fails where it ignores neither.
        return False
    return told.split(b"\0")[:-1] == [os.fsencode(path)]


def loaded_on_the_way(path: Path, surroundings: Surroundings) -> str | None:
    """A package that loading a target would load as well, and that does something then."""
    package = package_of(surroundings.path, surroundings.module.name)
    there = {
        name
        for statement in surroundings.source.tree.body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for made in imported(statement, package)
        for name in (made.module, made.path)
    }
    for folder in packages_around(path):
        initial = folder / "__init__.py"
        if not initial.is_file():
            continue
        name = module_name(initial, surroundings.root).name
        known = folder in surroundings.path.parents or any(
            other == name or other.startswith(f"{name}.") for other in there
        )
        if not known and _does_something(initial):
            return f"{shown_path(initial, surroundings.root)} would be loaded for it, which does something"
    return None


def _does_something(path: Path) -> bool:
    """Tell whether loading a package's own file may do more than bind names."""
    tree = read_scopes(read_source(path))
    return effects_of(tree).most(tree.source.tree.body) is Effect.RUNS


def met_by_patches(gained: Iterable[Import], surroundings: Surroundings, home: str, find: Find) -> str | None:
    """Why what a file gains would not import what the source did; None if it would: no module that the source
    loads after it took a name from another one replaces it there.
    """
    tree, package = surroundings.source.tree, package_of(surroundings.path, home)
    loaded = surroundings.once(
        "loaded", lambda: Loading(find).rehearsed(home, surroundings.path, tree).loaded
    )
    taken = {
        each.path: node.lineno
        for node in reversed(tree.body)
        if isinstance(node, ast.ImportFrom)
        for each in imported(node, package)
    }
    for item in sorted(gained, key=lambda each: each.path):
        later = (module for module, line in loaded.items() if line > taken.get(item.path, 0))
        for module in later if item.name is not None else ():
            if _replaces(module, item, find):
                what = f"{home} took {item.name} from {item.module} before it loads {module}"
                return f"{what}, which replaces it there; leave what reads it where it is"
    return None


def _replaces(module: str, taken: Import, find: Find) -> bool:
    """Tell whether a module of the project replaces a name of another one."""
    found = find(module)
    if found is None or taken.bound.encode() not in found[0]:
        return False
    data, initial = found
    try:
        tree = shared_tree(data, module)
    except SourceError:
        return False
    replacing = replacing_of(tree, module if initial else module.rpartition(".")[0])
    return any(name in (taken.name, ANY_NAME) for name, *_ in replacing.names_of(ModuleName(taken.module)))
