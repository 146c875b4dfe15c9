"""Star imports of a project, by which all public names of a module may spread."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from codemods.program.origins import absolute
from codemods.program.repository import folder_package, module_name
from codemods.program.source import SourceError, shared_tree
from codemods.program.texts import all_words

# Only files that have this are parsed.
_STAR = re.compile(rb"import[\s\\]*\*")


def spreads(files: Iterable[tuple[Path, bytes]], root: Path, module: Path, tree: ast.Module) -> bool:
    """Tell whether a star import may bring all names of a module, which does not list them, elsewhere."""
    listed = any(isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(tree))
    return not listed and is_star_imported(files, root, module)


def is_star_imported(files: Iterable[tuple[Path, bytes]], root: Path, module: Path) -> bool:
    """Tell whether one of some files below a root may import everything from a module."""
    known = module_name(module, root)
    for path, data in files:
        if _STAR.search(data) is None:
            continue
        try:
            tree = shared_tree(data, str(path))
        except SourceError:
            # What can't be parsed here may be read by another Python.
            if module.stem.encode() in data or module.stem == "__init__":
                return True
            continue
        beside = module.stem if path.parent == module.parent else None
        if any(known.within(name) == "" or name == beside for name in _stars(tree, folder_package(path))):
            return True
    return False


def _stars(tree: ast.Module, package: str) -> Iterator[str]:
    """Modules of which a file, or a program in its texts, imports everything."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                yield absolute(node, package)
            case ast.Constant(value=str() as text) if _STAR.search(text.encode("utf-8", "replace")):
                try:
                    yield from _stars(ast.parse(textwrap.dedent(text)), package)
                except (SyntaxError, ValueError, RecursionError):
                    yield from all_words(text)
