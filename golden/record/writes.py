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
# Before a path that is written: it loses what it had. Others are moved away, or removed.
_ANEW, _MOVED, _REMOVED = "+", "-", "!"

# Called with the path of a file that is opened for writing by its mode.
listeners: list[Callable[[str], None]] = []


class _Noted:
    """The paths that a process and those that it forks wrote, each once with a mark, in a file of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._seen: set[str] = set()
        name = folder / f"{os.getpid()}-{os.urandom(4).hex()}.txt"
        # A descriptor that forked processes share, each line in one call.
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, path: Any, mark: str) -> None:
        """Note a path, as it is given to the operating system."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        full = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - quicker, and every write comes here
        # What is written for the first time loses nothing that this run wrote.
        line = full if mark == _ANEW and full not in self._seen else mark + full
        if line not in self._seen:
            self._seen.add(line)
            os.write(self._file, os.fsencode(line).replace(b"\n", b"?") + b"\n")


_noted: _Noted | None = None


def start(folder: str) -> None:
    """Listen from now on; paths go to files in ``folder``."""
    global _noted
    _noted = _Noted(Path(folder) / FOLDER)
    # Reports every way of opening a file in Python, and leaves `open` as it is.
    sys.addaudithook(_on_audit)


def note(path: Any, mark: str = _ANEW) -> None:
    """Note a path that is written without Python, as a whole."""
    if _noted is not None:
        _noted.add(path, mark)


def _on_open(path: Any, mode: Any, flags: Any) -> None:
    if mode:
        if _WRITING.isdisjoint(mode):
            return
    elif not (isinstance(flags, int) and flags & _FLAGS):
        return
    note(path, _ANEW if "w" in (mode or "") or (not mode and flags & os.O_TRUNC) else "")
    if mode and type(path) is str:
        for listener in listeners:
            listener(path)


_ON_EVENT: dict[str, Callable[..., object]] = {
    "open": _on_open,
    "os.rename": lambda *given: list(map(note, given[:2], (_MOVED, _ANEW))),
    # Within an open folder its name alone is known.
    "os.remove": lambda path, folder=-1: note(path, _REMOVED) if folder == -1 else None,
    "os.utime": lambda path, *_: note(path, ""),
}


def _on_audit(event: str, arguments: Any) -> None:
    # Most events are others, of which there are tens of thousands.
    if on_event := _ON_EVENT.get(event):
        on_event(*arguments)


def written(folder: Path) -> tuple[set[Path], set[Path], set[Path]]:
    """Return the files that a run wrote and that are there, those of them written anew, and those removed."""
    found: dict[str, set[Path]] = {mark: set() for mark in ("", _ANEW, _MOVED, _REMOVED)}
    for listed in (folder / FOLDER).glob("*.txt"):
        for line in map(os.fsdecode, listed.read_bytes().splitlines()):
            mark = line[0].strip(os.sep)
            found[mark].add(Path(line.removeprefix(mark)))
    noted = {path for path in found[""] | found[_REMOVED] if not path.is_relative_to(folder)}
    files = {path for path in noted & found[""] if path.is_file()}
    removed = {p for p in noted if not p.exists() and found[_MOVED].isdisjoint((p, *p.parents))}
    return files, found[_ANEW] & files, removed
