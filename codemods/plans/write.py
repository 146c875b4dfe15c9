"""Write several files all or nothing, in an order in which a write that is killed leaves a tree that runs."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from codemods.program.source import Unusable


class WriteError(Unusable):
    """Nothing was changed; the message is one line."""


def write_all(files: Mapping[Path, bytes], *, replace: Callable[[Path, Path], object] = Path.replace) -> None:
    """Put every file in its place, in the order given, once all of them are on the disk beside their places.

    Raises:
        WriteError: if any can't be written; what was there before is there again.
    """
    missing = {p for path in files for p in path.parents if not p.exists()}
    folders = sorted(missing, key=lambda path: len(path.parts))
    token = secrets.token_hex(4)
    new: dict[Path, Path] = {}
    old: dict[Path, Path] = {}
    done: list[Path] = []
    current = Path()
    try:
        for folder in folders:
            folder.mkdir(exist_ok=True)
        for current, data in files.items():
            new[current] = current.with_name(f".{current.name}.{token}.codemods-new")
            _stage(new[current], current, data)
            if current.is_file():
                old[current] = current.with_name(f".{current.name}.{token}.codemods-old")
                _stage(old[current], current, current.read_bytes())
        for current in files:
            replace(new[current], current)
            done.append(current)
    except BaseException as error:
        for path in reversed(done):
            with contextlib.suppress(OSError):
                # By renames alone.
                if path in old:
                    old[path].replace(path)
                else:
                    path.unlink()
        _forget(new, old)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            what = f"{current}: can't be written: {error.strerror or error}; nothing was changed"
            raise WriteError(what) from None
        raise
    _forget(new, old)


def _stage(staged: Path, path: Path, data: bytes) -> None:
    """Put a text on the disk, with the mode of the file that it is to replace."""
    handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    staged.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o644)


def _forget(*staged: Mapping[Path, Path]) -> None:
    """Remove the files beside their places."""
    for path in (path for each in staged for path in each.values()):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
