"""Meanings of a new file in a project: who asks for its name, lists it or waits for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from codemods.plans.site import Site
from codemods.program.modules import effects_of
from codemods.program.repository import is_below, packages_around, script_imported, shown_path
from codemods.program.source import having, read_source
from codemods.program.surroundings import Surroundings
from codemods.program.walk import read_scopes
from codemods.rewrites.refusals import Refusals, refuse

# A line that imports a name, or looks for a module.
_IMPORT = (
    rb"(?m)^[ \t]*(?:from|import)\b[^#\n]*\b%b\b"
    rb"|(?:__import__|find_spec|import_module|importorskip)\(\s*[\"'](?:\w+\.)*%b[\"']"
)
_STAR = re.compile(rb"import[\s\\]*\*")
_WALKS = having("iter_modules", "walk_packages")
# What is walked, where that is the packages of something.
_WALKED = re.compile(rb"\b(?:iter_modules|walk_packages)\s*\(\s*(?:path\s*=\s*)?(?:(\w+)[\w.]*\.__path__)?")
_LISTS = (
    having("glob", "iglob", "iterdir", "listdir", "rglob", "scandir"),
    having("__file__", "__path__"),
    lambda data: b".py'" in data or b'.py"' in data,
)
_BY_PATH = having("spec_from_file_location", "SourceFileLoader", "load_source", "run_path")


def met_by_new_file(path: Path, around: Surroundings) -> str | None:
    """Why a new file would be met by something; None if it is not: no other file may import its name."""
    has_word, word = having(path.stem), path.stem.encode()
    imported, own = re.compile(_IMPORT % (word, word)), path.parent / "__init__.py"
    for file, data in around.files():
        if file == own:
            if has_word(data) or _star_may_bring(file, data, path.stem, around):
                return f"{path.stem} means something in {shown_path(file, around.root)} already"
        elif file != around.path and has_word(data) and (found := imported.search(data)) is not None:
            shown, line = shown_path(file, around.root), data.count(b"\n", 0, found.start()) + 1
            return f"{shown}:{line} imports {path.stem}, which would be there; choose another name"
    return None


def _star_may_bring(file: Path, data: bytes, stem: str, around: Surroundings) -> bool:
    """Tell whether a star import of a package's own file may bind the name of a new module there."""
    if _STAR.search(data) is None:
        return False
    package = Surroundings(read_source(file), file, around.root, around.files)
    return package.late_star(0, stem) is not None


def _lists_modules(file: Path, data: bytes, new: Path) -> bool:
    """Tell whether a file lists the modules of a new one's folder: those beside it, or of a package that it
    names.
    """
    folder, beside = new.parent, file.parent == new.parent
    if _WALKS(data) and not _walks_others(data, new):
        above = file.name == "__init__.py" and file.parent in folder.parents
        if beside or above or folder.name.encode() in data:
            return True
    return beside and file.name != "setup.py" and all(has(data) for has in _LISTS)


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
    """Why a target may not be found where the source is loaded, or loads more; with codes."""
    module, around = site.layout.dotted(path), site.surroundings
    if site.layout.frozen or module is None or path in site.overlay.made:
        return
    root, source = around.root, around.path
    if (name := script_imported(source)) is not None:
        what = f"it is run as a script, and imported as {name}, by which {path.stem} would not be found"
        yield "loaded-otherwise", what
    for file, data in around.files():
        if source.name.encode() in data and _BY_PATH(data):
            yield "loaded-otherwise", f"{shown_path(file, root)} loads {source.name} by its path"
        if _lists_modules(file, data, path):
            what = f"{shown_path(file, root)} lists the files of its folder, of which it would be one"
            yield "loaded-otherwise", what
    for folder in packages_around(path) if not site.overlay.exists(path) else ():
        initial = folder / "__init__.py"
        if folder not in source.parents and initial.is_file():
            tree = read_scopes(read_source(initial))
            if effects_of(tree).runs(tree.source.tree.body):
                what = f"{shown_path(initial, root)} would be loaded for it, which does something"
                yield "import-effects", what
