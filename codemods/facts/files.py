"""The files of a project as trees, with the names by which they are imported."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from codemods.facts.repository import module_name, package_of, shown_path
from codemods.facts.source import SourceError, shared_source


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
