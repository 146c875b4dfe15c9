"""Copies of a tree in which mistakes are planted; nobody's own files are touched."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from golden.record.git import files_of, share
from golden.trace.errors import UnusableInput

_CACHE = "__pycache__"
_NEVER = (".git", ".hg", ".venv", _CACHE, ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules")


def _files_below(root: Path) -> list[str]:
    """The files of a tree that git keeps or would keep; without git those in no tool's own folder."""
    kept = files_of(root)
    if kept is not None:
        return [name for name in kept if _CACHE not in name]
    everything = (path.relative_to(root) for path in root.rglob("*") if not path.is_dir())
    return sorted(str(path) for path in everything if not any(part in _NEVER for part in path.parts))


class Tree:
    """One copy of some files of ``root``; one mistake at a time is in it."""

    def __init__(self, root: Path, place: Path, files: Sequence[str], shared: Sequence[str]) -> None:
        self.root = place
        self._source = root
        self._files = frozenset(files)
        # Python takes a compiled file for current if the second of its text's time is the same.
        self._clock = 0
        for name in files:
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target, follow_symlinks=False)
        share(shared, root, place)
        self._stamps = {name: self._stamp(name) for name in files}

    @contextlib.contextmanager
    def with_file(self, name: str, data: bytes) -> Iterator[None]:
        """Within it one file has other bytes; then all is as it was before, whatever ran there."""
        self._write(name, data)
        try:
            yield
        finally:
            self._write(name, (self._source / name).read_bytes())
            self.tidy()

    def tidy(self) -> None:
        """Take away what programs left in the tree, and put back what they changed."""
        for folder, folders, names in os.walk(self.root):
            below = Path(folder).relative_to(self.root)
            folders[:] = [each for each in folders if each != _CACHE]
            for each in names:
                if str(below / each) not in self._files and not (path := Path(folder, each)).is_symlink():
                    path.unlink(missing_ok=True)
        for name, stamp in self._stamps.items():
            if self._stamp(name) != stamp:
                target = self.root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                shutil.copy2(self._source / name, target, follow_symlinks=False)
                self._stamps[name] = self._stamp(name)

    def _write(self, name: str, data: bytes) -> None:
        path = self.root / name
        path.write_bytes(data)
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        for compiled in (path.parent / _CACHE).glob(f"{path.stem}.*"):
            compiled.unlink(missing_ok=True)
        self._stamps[name] = self._stamp(name)

    def _stamp(self, name: str) -> tuple[int, int] | None:
        try:
            found = (self.root / name).lstat()
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns


class Trees:
    """As many copies of a tree as programs run at a time, lent one by one."""

    def __init__(self, root: Path, scratch: Path, count: int, shared: Sequence[str]) -> None:
        self.files = _files_below(root)
        if not self.files:
            raise UnusableInput(f"no files in {root}")
        self.all = [Tree(root, scratch / f"tree-{number}", self.files, shared) for number in range(count)]
        self._free: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for tree in self.all:
            self._free.put(tree)

    @contextlib.contextmanager
    def lent(self) -> Iterator[Tree]:
        """One that nobody else has."""
        tree = self._free.get()
        try:
            yield tree
        finally:
            self._free.put(tree)


@contextlib.contextmanager
def copies(root: Path, count: int, shared: Sequence[str]) -> Iterator[Trees]:
    """Copies in a scratch folder, gone at the end. Raises `UnusableInput`."""
    with tempfile.TemporaryDirectory(prefix="golden-power-", ignore_cleanup_errors=True) as scratch:
        try:
            trees = Trees(root.resolve(), Path(scratch), count, shared)
        except OSError as error:
            raise UnusableInput(f"can't copy {root}: {error}") from None
        yield trees
