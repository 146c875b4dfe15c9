"""How many lines the program has written to its event files so far: the order of events and steps."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import time
from itertools import compress
from pathlib import Path
from typing import Any

_MAGIC = frozenset("*?[")
# A program that opens its file for every event has no writer to find.
_LOOK_EVERY = 16
_WRITERS = {io.TextIOWrapper, io.BufferedWriter}
# A folder's time of change may stand still for so long while files come.
_TICK_NS = 50_000_000


class _File:
    """One event file: how far it was read, its complete lines, what stands behind the last of them."""

    __slots__ = ("calls", "lines", "path", "rest", "size", "writer")

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = self.lines = self.calls = 0
        self.rest = b""
        self.writer: Any = None


class EventLines:
    """Counts complete lines of files below a folder, after flushing what the program still buffers."""

    def __init__(self, folder: Path, glob: str) -> None:
        self._folder, self._glob = folder, glob
        self._fixed = not _MAGIC.intersection(glob)
        self._flat = "/" not in glob
        self._listed: list[str] = []
        self._listed_for = -1
        self._files: dict[str, _File] = {}

    def counts(self) -> dict[str, int]:
        """Lines by file, as a path relative to the folder; a file that isn't there yet has none."""
        return {name: count for name in self._names() if (count := self._count(name))}

    def flush(self) -> None:
        """Have this process write what it buffers, for another one that counts."""
        for name in self._names():
            self._flush(self._file(name))

    def _names(self) -> list[str]:
        if self._fixed:
            return [self._glob]
        changed = 0
        if self._flat:
            with contextlib.suppress(OSError):
                changed = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 - quicker, as below
            if changed == self._listed_for:
                return self._listed
        self._listed_for = changed if changed and time.time_ns() - changed > _TICK_NS else -1
        self._listed = [str(path.relative_to(self._folder)) for path in self._folder.glob(self._glob)]
        return self._listed

    def _file(self, name: str) -> _File:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = _File(str(self._folder / name))
        return file

    def _count(self, name: str) -> int:
        file = self._file(name)
        try:
            # A file that was removed, or isn't there yet, has no lines, whoever has it open.
            size = os.stat(file.path).st_size  # noqa: PTH116 - quicker, and this runs at every step
            if self._flush(file):
                size = os.stat(file.path).st_size  # noqa: PTH116 - as above
            if size != file.size:
                self._read(file, size)
        except OSError:
            return 0
        return file.lines

    def _read(self, file: _File, size: int) -> None:
        if size < file.size:
            file.size, file.lines, file.rest = 0, 0, b""
        with io.FileIO(file.path) as raw:
            raw.seek(file.size)
            fresh = raw.read(size - file.size)
        *lines, file.rest = (file.rest + fresh).split(b"\n")
        file.lines += sum(1 for line in lines if line.strip())
        file.size += len(fresh)

    def _flush(self, file: _File) -> bool:
        """Have the program's writer write what it buffers; false if there is none."""
        if file.writer is None or file.writer.closed:
            file.writer = None
            if file.calls % _LOOK_EVERY == 0 and _is_open(file.path):
                file.writer = _writer(file.path)
            file.calls += 1
        if file.writer is None:
            return False
        with contextlib.suppress(OSError, ValueError):
            file.writer.flush()
        return True


def _is_open(path: str) -> bool:
    """Whether this process has the file open."""
    with contextlib.suppress(OSError):
        for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as above
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{descriptor}") == path:  # noqa: PTH115 - as above
                    return True
    return False


def _writer(path: str) -> Any:
    """The outermost file object that writes to a path, if one does."""
    found = None
    things = gc.get_objects()
    for thing in compress(things, map(_WRITERS.__contains__, map(type, things))):
        with contextlib.suppress(ValueError, AttributeError, OSError, TypeError):
            if not thing.closed and thing.writable() and os.path.realpath(thing.name) == path:
                if isinstance(thing, io.TextIOWrapper):
                    return thing
                found = thing
    return found
