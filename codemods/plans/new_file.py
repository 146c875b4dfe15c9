"""Meanings of a new file in a project: who loads it, lists it or waits for it, and who does not find it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from codemods.plans.site import Site
from codemods.program.git import Git
from codemods.program.imports import Import
from codemods.program.modules import Module, effects_of
from codemods.program.nodes import called_name
from codemods.program.origins import imported
from codemods.program.patches import ANY_NAME, replacing_of
from codemods.program.repository import (
    ModuleName,
    is_below,
    package_of,
    packages_around,
    script_imported,
    shown_path,
)
from codemods.program.source import SourceError, read_source, shared_tree
from codemods.program.surroundings import Surroundings
from codemods.program.walk import read_scopes
from codemods.program.words import having
from codemods.rewrites.refusals import Refusals, refuse

_LOOK_UPS = ("__import__", "find_loader", "find_spec", "import_module", "importorskip")
_WALKS = having("iter_modules", "walk_packages")
# What is walked, where that is the packages of something.
_WALKED = re.compile(rb"\b(?:iter_modules|walk_packages)\s*\(\s*(?:path\s*=\s*)?(?:(\w+)[\w.]*\.__path__)?")
_LISTS = (
    having("glob", "iglob", "iterdir", "listdir", "rglob", "scandir"),
    having("__file__", "__path__"),
    lambda data: b".py'" in data or b'.py"' in data,
)
_BY_PATH = having("spec_from_file_location", "SourceFileLoader", "load_source", "run_path")
_STAR = re.compile(rb"import[\s\\]*\*")
_MODULES = having("py_modules", "py-modules")
_SETTINGS = ("pyproject.toml", "setup.cfg", "setup.py")


def met_by_new_file(path: Path, module: str, around: Surroundings) -> str | None:
    """Why a new file would be met by something; None if it is not."""
    has_word = having(path.stem)
    for file, data in around.files():
        if file == around.path:
            continue
        initial = file == path.parent / "__init__.py"
        if not has_word(data) and not (initial and _star_may_bring(file, data, path.stem, around)):
            continue
        shown = shown_path(file, around.root)
        if initial:
            return f"{path.stem} means something in {shown} already"
        try:
            tree = shared_tree(data, str(file))
        except SourceError:
            return f"{shown} mentions {path.stem}, and is not Python that this interpreter reads"
        for node in ast.walk(tree):
            if _mentions(node, path.stem, module):
                return f"{shown}:{getattr(node, 'lineno', 1)} imports {module}, which would be there"
    return None


def _star_may_bring(file: Path, data: bytes, stem: str, around: Surroundings) -> bool:
    """Tell whether a star import of a package's own file may bind the name of a new module there."""
    if _STAR.search(data) is None:
        return False
    package = Surroundings(read_source(file), file, around.root, around.files)
    return package.late_star(0, stem) is not None


def _mentions(node: ast.AST, stem: str, module: str) -> bool:
    """Tell whether a node imports something of a module's name, or looks for the module."""
    match node:
        case ast.Import():
            return any(stem in alias.name.split(".") for alias in node.names)
        case ast.ImportFrom():
            return stem in (node.module or "").split(".") or any(alias.name == stem for alias in node.names)
        case ast.Call(args=[ast.Constant(value=str() as text), *_]):
            return text == module and called_name(node) in _LOOK_UPS
    return False


def _lists_modules(file: Path, data: bytes, new: Path) -> bool:
    """Tell whether a file lists the modules of a new one's folder: those beside it, or of a package that it
    names.
    """
    folder = new.parent
    if _WALKS(data) and not _walks_others(data, new):
        above = file.name == "__init__.py" and file.parent in folder.parents
        if file.parent == folder or above or folder.name.encode() in data:
            return True
    beside = file.parent == new.parent and file.name != "setup.py"
    return beside and all(has(data) for has in _LISTS)


def _walks_others(data: bytes, new: Path) -> bool:
    """Tell whether all that a file walks are packages of other projects, each imported under its own name."""
    walked = set(_WALKED.findall(data))
    named = set(re.findall(rb"(?m)^[ \t]*import[ \t]+(\w+)[ \t]*$", data))
    ours = any(is_below(name.decode(), new.parents) for name in walked & named)
    return bool(walked) and walked <= named and not ours


def loaded_alike(site: Site, path: Path, moved: ast.AST) -> Refusals:
    """The file to which something is moved is loaded as the source is."""
    for code, reason in site.surroundings.once(("alike", path), lambda: list(_not_alike(site, path))):
        yield refuse(code, moved, reason)


def _not_alike(site: Site, path: Path) -> Iterator[tuple[str, str]]:
    """Why a target may be missing, or not be found, where the source is loaded, or loads more; with codes."""
    module, around, code = site.layout.dotted(path), site.surroundings, "loaded-otherwise"
    if site.layout.frozen or module is None or path in site.overlay.made:
        return
    root, source = around.root, around.path
    if _is_ignored(path, source):
        yield code, f"git ignores {shown_path(path, root)}"
    if (name := script_imported(source)) is not None:
        what = f"it is run as a script, and imported as {name}, by which {path.stem} would not be found"
        yield code, what
    listed = having(source.stem)
    for name in _SETTINGS if "." not in module else ():
        data = (root / name).read_bytes() if (root / name).is_file() else b""
        if _MODULES(data) and listed(data) and path.stem.encode() not in data:
            yield code, f"{name} lists its modules, {source.stem} and not {path.stem}"
    for file, data in around.files():
        if source.name.encode() in data and _BY_PATH(data):
            yield code, f"{shown_path(file, root)} loads {source.name} by its path"
        if _lists_modules(file, data, path):
            yield code, f"{shown_path(file, root)} lists the files of its folder, of which it would be one"
    for folder in packages_around(path) if not site.overlay.exists(path) else ():
        initial = folder / "__init__.py"
        if folder not in source.parents and initial.is_file():
            tree = read_scopes(read_source(initial))
            if effects_of(tree).runs(tree.source.tree.body):
                what = f"{shown_path(initial, root)} would be loaded for it, which does something"
                yield "import-effects", what


def _is_ignored(path: Path, source: Path) -> bool:
    """Tell whether git ignores a file, and not the one beside it that it is made of."""
    folder = next((each for each in path.parents if (each / ".git").exists()), None)
    if folder is None:
        return False
    try:
        given = b"\0".join(map(os.fsencode, (path, source)))
        told = Git(folder, "").run("check-ignore", "--stdin", "-z", given=given)
    except SourceError:
        # Git fails where it ignores neither.
        return False
    return told.split(b"\0")[:-1] == [os.fsencode(path)]


def met_by_patches(gained: Iterable[Import], site: Site) -> str | None:
    """Why what a file gains would not import what the source did; None if it would: no module that the source
    loads replaces it, after the source took it, where it comes from.
    """
    around, home = site.surroundings, site.home
    tree, package = around.source.tree, package_of(around.path, home)
    loaded = around.once("loaded", lambda: _loaded_by(site))
    taken = {
        each.path: node.lineno
        for node in reversed(tree.body)
        if isinstance(node, ast.ImportFrom)
        for each in imported(node, package)
    }
    for item in sorted((each for each in gained if each.name is not None), key=lambda each: each.path):
        for module, line, data in loaded:
            if line <= taken.get(item.path, 0) or item.bound.encode() not in data:
                continue
            names = replacing_of(module.tree, module.package).names_of(ModuleName(item.module))
            if any(name in (item.name, ANY_NAME) for name, *_ in names):
                what = f"{home} took {item.name} from {item.module} before it loads {module.name}"
                return f"{what}, which replaces it there; leave what reads it where it is"
    return None


def _loaded_by(site: Site) -> list[tuple[Module, int, bytes]]:
    """List the project's modules that the source loads: each with the source's line that brings it, and its
    bytes.
    """
    around, loading = site.surroundings, site.loading
    run = loading.rehearsed(site.home, around.path, around.source.tree)
    found = []
    for name, line in run.loaded.items():
        file, module = site.find(name), loading.module(name)
        if file is not None and module is not None:
            found.append((module, line, file[0]))
    return found
