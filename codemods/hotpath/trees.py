"""Python files to check, by their paths in a project: of a folder, or of a git commit."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.program.git import Git, Objects
from codemods.program.repository import is_skipped, project_root, python_files, unreadable_files
from codemods.program.source import SourceError


@dataclass(frozen=True, slots=True)
class File:
    """A file: its bytes, its path in the project, its module's name; and why it can't be read, if so."""

    path: str
    data: bytes
    module: str
    is_package: bool
    problem: str | None = None


def root_of(paths: Sequence[Path]) -> Path:
    """The project that paths belong to: that of the first one."""
    first = paths[0].resolve() if paths else Path.cwd()
    return project_root(first / "x" if first.is_dir() else first)


def read_files(paths: Sequence[Path], root: Path, exclude: Iterable[str] = ()) -> list[File]:
    """The Python files at some paths, each once.

    Raises:
        SourceError: for a path that is not there.
    """
    patterns = tuple(exclude)
    base = os.path.realpath(root)
    data: dict[str, bytes] = {}
    problems: dict[str, str] = {}
    for path in paths:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder")
        if not path.is_file() and not path.is_dir():
            raise SourceError(f"{path}: is not a regular file")
        for file in python_files(path):
            shown = shown_path(file, base)
            if shown in data or _excluded(shown, patterns):
                continue
            try:
                data[shown] = file.read_bytes()
            except OSError as error:
                data[shown], problems[shown] = b"", f"can't be read: {error.strerror}"
        for file, kind in unreadable_files(path):
            shown = shown_path(file, base)
            if not _excluded(shown, patterns):
                data[shown], problems[shown] = b"", f"can't be read: it is {kind}"
    packages: dict[str, bool] = {}

    def is_package(folder: str) -> bool:
        if folder not in packages:
            packages[folder] = os.path.isfile(os.path.join(base, folder, "__init__.py"))  # noqa: PTH113, PTH118 (speed)
        return packages[folder]

    return [
        name_file(path, content, is_package, problems.get(path)) for path, content in sorted(data.items())
    ]


def shown_path(path: Path, base: str) -> str:
    """How a file is called in a project whose folder, links resolved, is `base`."""
    real = os.path.realpath(path)
    # A link whose target is gone is named as what it is called here.
    shown = real if os.path.exists(real) else os.path.abspath(path)  # noqa: PTH110, PTH100 (speed)
    return os.path.relpath(shown, base).replace(os.sep, "/")


def _excluded(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def name_file(path: str, data: bytes, is_package: object, problem: str | None = None) -> File:
    """A file with its module's name: from the outermost package folder on, or of all folders if none is one.

    Folders in between without an ``__init__.py`` are packages all the same.
    """
    parts = path.removesuffix(".py").split("/")
    initial = parts[-1] == "__init__"
    stem = parts[:-1] if initial else parts
    folders = (at for at in range(1, len(parts)) if is_package("/".join(parts[:at])))  # type: ignore[operator]
    at = next(folders, 1) - 1
    name = ".".join(part.replace(".", "-") for part in stem[at:] if part != "..") or parts[0]
    return File(path, data, name, initial, problem)


def read_commit(reference: str, paths: Sequence[Path], root: Path, exclude: Iterable[str] = ()) -> list[File]:
    """The Python files that a commit has below the same paths.

    Raises:
        SourceError: if there is no git, no repository or no such commit.
    """
    patterns = tuple(exclude)
    try:
        return _of_commit(reference, paths, root, patterns)
    except SourceError as error:
        raise SourceError(f"--base: {error}") from None


def _of_commit(reference: str, paths: Sequence[Path], root: Path, patterns: tuple[str, ...]) -> list[File]:
    git = Git(root, "compare with a baseline file (--baseline) instead").top()
    commit = git.commit(reference)
    if commit is None:
        raise SourceError(f"{reference}: no such commit; name a branch, tag or commit")
    inside = os.path.relpath(os.path.realpath(root), os.path.realpath(git.folder)).replace(os.sep, "/")
    prefix = "" if inside == "." else f"{inside}/"
    wanted = [shown_path(path, os.path.realpath(root)) for path in paths] or ["."]
    blobs: dict[str, str] = {}
    packages: set[str] = set()
    for entry in git.tree(commit):
        if not entry.path.endswith(".py") or not entry.path.startswith(prefix) or entry.kind != "file":
            continue
        path = entry.path[len(prefix) :]
        if path.endswith("__init__.py"):
            packages.add(path.rpartition("/")[0])
        if any(_holds(folder, path) for folder in wanted) and not _excluded(path, patterns):
            blobs[path] = entry.blob
    objects = Objects(git)
    return [
        name_file(path, objects.read(blob), packages.__contains__) for path, blob in sorted(blobs.items())
    ]


def _holds(folder: str, path: str) -> bool:
    """Tell whether a file is read below a folder, as one of the working tree is."""
    if folder == path:
        return True
    inside = path if folder == "." else path.removeprefix(f"{folder}/")
    return (folder == "." or inside != path) and not any(map(is_skipped, inside.split("/")[:-1]))
