"""Files that a program writes, whatever way of opening one in Python it takes.

Loaded in every Python process of a run, before torch, so it imports nothing of weight.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = "writes"
_WRITING = frozenset("wax+")
_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# Called with the path of a file that is opened for writing by its mode.
listeners: list[Callable[[str], None]] = []


class _Noted:
    """The paths that a process and those that it forks wrote, each once, in a file of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._seen: set[str] = set()
        name = folder / f"{os.getpid()}-{os.urandom(4).hex()}.txt"
        # A descriptor that forked processes share, each line in one call.
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, path: Any) -> None:
        """Note a path, as it is given to the operating system."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        full = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - quicker, and every write comes here
        if full not in self._seen:
            self._seen.add(full)
            os.write(self._file, os.fsencode(full).replace(b"\n", b"?") + b"\n")


_noted: _Noted | None = None


def start(folder: str) -> None:
    """Listen from now on; paths go to files in ``folder``."""
    global _noted
    _noted = _Noted(Path(folder) / FOLDER)
    # Reports every way of opening a file in Python, and leaves `open` as it is.
    sys.addaudithook(_on_audit)


def note(path: Any) -> None:
    """Note a path that is written without Python."""
    if _noted is not None:
        _noted.add(path)


def _on_open(path: Any, mode: Any, flags: Any) -> None:
    if mode:
        if _WRITING.isdisjoint(mode):
            return
    elif not (isinstance(flags, int) and flags & _FLAGS):
        return
    note(path)
    if mode and type(path) is str:
        for listener in listeners:
            listener(path)


_ON_EVENT: dict[str, Callable[..., None]] = {
    "open": _on_open,
    "os.rename": lambda _, target, *__: note(target),
    "os.utime": lambda path, *_: note(path),
}


def _on_audit(event: str, arguments: Any) -> None:
    # Most events are others, of which there are tens of thousands.
    if on_event := _ON_EVENT.get(event):
        on_event(*arguments)


def written(folder: Path) -> set[Path]:
    """Return all files that the processes of a run wrote and that are there, outside of ``folder``."""
    found = set()
    for listed in (folder / FOLDER).glob("*.txt"):
        for line in listed.read_bytes().splitlines():
            found.add(Path(os.fsdecode(line)))
    return {path for path in found if path.is_file() and not path.is_relative_to(folder)}
