"""The folder that a run works in: its tree, or a copy without what earlier runs left.

An edit of its source meanwhile is noticed.
"""

from __future__ import annotations

import contextlib
import filecmp
import functools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import TypeVar

import xxhash

from esper_harness.report.plain import listed
from golden.record.git import TREE, files_of, ignored_below, share, top_of, untracked
from golden.record.run import Run
from golden.trace.errors import UnusableInput

_SHOWN = 3
_CACHES = ("__pycache__", "node_modules")
_ASKS_GIT = re.compile(r"GitRepository|'git'|not a git repository")
Stamp = tuple[int, int]
AnyPath = TypeVar("AnyPath", str, Path)


@contextlib.contextmanager
def own_tree(run: Run, root: Path, beside: Path | None = None) -> Iterator[Path]:
    """Give the folder to run in: a copy where all files of a git repository are compared.

    The copy holds what git keeps or would keep, and links to what ``[data] paths`` names. That of another
    version also holds what lies ``beside`` its files in the working tree, so that no side alone finds it.
    Raises `UnusableInput` if the tree can't be copied.
    """
    top = top_of(root) if run.outputs.everything else None
    files = files_of(top) if top is not None else None
    if top is None or files is None:
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="golden-copy-", ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch).resolve() / TREE
        place = copy / root.relative_to(top)
        try:
            place.mkdir(parents=True)
            copy_files(files, top, copy)
            if beside is not None:
                copy_files([name for name in untracked(beside) if not (place / name).exists()], beside, place)
        except OSError as error:
            raise UnusableInput(f"can't copy {top} for run {run.name}: {error}") from None
        share(run.data.paths if run.data else (), root, place)
        yield place


def copy_files(names: Iterable[str], source: Path, target: Path) -> None:
    """Copy files below a folder to the same places below another one. Raises `OSError`."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target / name, follow_symlinks=False)


def files_below(root: Path) -> list[str]:
    """Return the files of a tree that git keeps or would keep; without git those of `walk`."""
    kept = files_of(root)
    if kept is not None:
        return [name for name in kept if "__pycache__" not in name]
    return sorted(os.path.relpath(path, root) for path in walk(root) if os.path.isfile(path))  # noqa: PTH113


def not_copied(run: Run, root: Path, error: str) -> str:
    """Return advice on a program that may have missed a file; empty where no copy can be why."""
    top = top_of(root) if run.outputs.everything else None
    if top is None:
        return ""
    if _ASKS_GIT.search(error):
        return "; it ran in a copy without .git: name that as GIT_DIR in [environment] of its run file"
    ignored = listed(ignored_below(root), _SHOWN)
    # What finds no data may fail in any way, before it trains.
    if "FileNotFoundError" not in error and not (ignored and "before the first optimizer step" in error):
        return ""
    missing = f"what git ignores ({ignored})" if ignored else "what is outside of the repository"
    return (
        f"; it ran in a copy without {missing}: name what it reads with --data PATH, or in [data] paths of "
        "its run file"
    )


class Tree:
    """The files of a tree that git keeps, and its Python files, as they are before a run."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = self._stamps()

    def _stamps(self) -> dict[str, Stamp]:
        kept = (f"{self._root}{os.sep}{name}" for name in files_of(self._root, untracked=False) or ())
        return stamps({*kept, *walk(self._root, ".py")})

    def check(self, run: str, written: Set[Path]) -> str:
        """Digest the tree; `UnusableInput` if a file changed that is not ``written`` by the program."""
        now, own = self._stamps(), set(map(str, written))
        removed = {path: self._before[path] for path in self._before.keys() & own if path not in now}
        now, own = now | removed, own - removed.keys()
        changed = sorted({path for path, _ in self._before.items() ^ now.items()} - own)
        if changed:
            names = listed((os.path.relpath(path, self._root) for path in changed), 1)
            raise UnusableInput(
                f"run {run}: {names} changed while it ran; run the command again, and edit when it has ended"
            )
        kept = sorted((p.removeprefix(str(self._root)), s) for p, s in now.items() if p not in own)
        return xxhash.xxh3_64_hexdigest(repr(kept).encode())

    @functools.cached_property
    def _sources(self) -> dict[int, list[Path]]:
        """Python files by their size, but for empty ones, which are copies of each other."""
        found: dict[int, list[Path]] = {}
        for path, (_, size) in sorted(self._before.items()):
            if size and path.endswith(".py"):
                found.setdefault(size, []).append(Path(path))
        return found

    def copied(self, path: Path, written: Set[Path]) -> str | None:
        """Return the Python file, not written by the program, that a file is a copy of by name and text."""
        for source in self._sources.get(path.stat().st_size, ()):
            named = path.name.startswith(source.stem) and source not in written
            if named and filecmp.cmp(source, path, shallow=False):
                return source.relative_to(self._root).as_posix()
        return None


def stamps(paths: Iterable[AnyPath]) -> dict[AnyPath, Stamp]:
    """Return when files were changed last, and how large they are; nothing of those that are gone."""
    found: dict[AnyPath, Stamp] = {}
    for path in paths:
        with contextlib.suppress(OSError):
            facts = os.stat(path)  # noqa: PTH116 - quicker, and this is asked of whole trees
            if stat.S_ISREG(facts.st_mode):
                found[path] = facts.st_mtime_ns, facts.st_size
    return found


def walk(root: Path, ending: str = "") -> Iterator[str]:
    """Yield the files of a tree, but for those of environments, caches and hidden folders."""
    for folder, below, names in os.walk(root):
        if "pyvenv.cfg" in names:
            below.clear()
            continue
        below[:] = [name for name in below if not name.startswith(".") and name not in _CACHES]
        yield from (f"{folder}{os.sep}{name}" for name in names if name.endswith(ending))
