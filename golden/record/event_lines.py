"""Numbers of lines that the program has written to its event files: the order of events and steps."""

from __future__ import annotations

import contextlib
import gc
import io
import os
from itertools import compress
from pathlib import Path
from typing import Any

from ..trace.paths import matching

_MAGIC = frozenset("*?[")
# A program that opens its file for every event has no writer to find.
_LOOK_EVERY = 16
_WRITERS = {io.TextIOWrapper, io.BufferedWriter}


class _File:
    """One event file: how far it was read, its complete lines, what stands behind the last of them."""

    __slots__ = ("lines", "looked", "path", "rest", "size", "writer")

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = self.lines = 0
        self.rest = b""
        self.writer: Any = None
        self.looked = False


class EventLines:
    """Counts complete lines of files below a folder, after flushing what the program still buffers."""

    def __init__(self, folder: Path, glob: str) -> None:
        self._folder, self._glob = folder, glob
        self._fixed = not _MAGIC.intersection(glob)
        self._files: dict[str, _File] = {}
        self._calls = -1
        # What this process has open, found at most once a call.
        self._open: frozenset[str] | None = None

    def counts(self) -> dict[str, int]:
        """Return lines by file, as a path relative to the folder; a file that isn't there yet has none."""
        self._calls += 1
        self._open = None
        return {name: count for name in self._names() if (count := self._count(name))}

    def _names(self) -> list[str]:
        if self._fixed:
            return [self._glob]
        return [str(path.relative_to(self._folder)) for path in matching(self._folder, self._glob)]

    def _count(self, name: str) -> int:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = _File(str(self._folder / name))
        try:
            flushed = _flush(file)
            # A file that was removed, or isn't there yet, has no lines, whoever has it open.
            size = os.stat(file.path).st_size  # noqa: PTH116 - quicker, and this runs at every step
            if not flushed and self._find_writer(file):
                _flush(file)
                size = os.stat(file.path).st_size  # noqa: PTH116 - as above
            if size != file.size:
                _read(file, size)
        except OSError:
            return 0
        return file.lines

    def _find_writer(self, file: _File) -> bool:
        """Look for an unknown writer of the program, at a few calls only; tell whether there is one."""
        if file.looked and self._calls % _LOOK_EVERY:
            return False
        file.looked = True
        if self._open is None:
            self._open = _open_files()
        if file.path in self._open:
            file.writer = _writer(file.path)
        return file.writer is not None


def _flush(file: _File) -> bool:
    """Have the known writer write what it buffers; false if there is none any more."""
    if file.writer is None:
        return False
    if file.writer.closed:
        file.writer = None
        return False
    with contextlib.suppress(OSError, ValueError):
        file.writer.flush()
    return True


def _read(file: _File, size: int) -> None:
    if size < file.size:
        file.size, file.lines, file.rest = 0, 0, b""
    # Four system calls less than a file object makes.
    descriptor = os.open(file.path, os.O_RDONLY)
    try:
        fresh = os.pread(descriptor, size - file.size, file.size)
    finally:
        os.close(descriptor)
    *lines, file.rest = (file.rest + fresh).split(b"\n")
    file.lines += sum(1 for line in lines if line.strip())
    file.size += len(fresh)


def _open_files() -> frozenset[str]:
    """Return the paths of what this process has open."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as above
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - as above
    return frozenset(found)


def _writer(path: str) -> Any:
    """Return the outermost file object that writes to a path, if one does."""
    found = None
    # By age, and of one age the last ones first: most programs have opened it just before.
    for generation in range(3):
        things = gc.get_objects(generation)
        things.reverse()
        for thing in compress(things, map(_WRITERS.__contains__, map(type, things))):
            with contextlib.suppress(ValueError, AttributeError, OSError, TypeError):
                if not thing.closed and thing.writable() and os.path.realpath(thing.name) == path:
                    if isinstance(thing, io.TextIOWrapper):
                        return thing
                    found = thing
    return found
