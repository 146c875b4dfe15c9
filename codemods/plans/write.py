"""Write several files all or nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


class WriteError(Exception):
    """Nothing was changed; the message is one line."""


@dataclass
class _Undo:
    """What to put back if a later step fails."""

    replaced: list[tuple[Path, Path | None]] = field(default_factory=list)
    temporary: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)


def write_all(
    files: Mapping[Path, bytes],
    *,
    replace: Callable[[Path, Path], object] = Path.replace,
) -> None:
    """Write every file, through temporary files beside them, so that an interruption leaves the old tree or
    the new.

    Raises:
        WriteError: if any can't be written; what was there before is there again.
    """
    undo = _Undo()
    staged: list[tuple[Path, Path]] = []
    current = next(iter(files), Path())
    try:
        for path, data in files.items():
            current = path
            _make_folder(path.parent, undo)
            staged.append((_stage(path, data, undo), path))
        for path in files:
            kept = _keep(path, undo) if path.exists() else None
            undo.replaced.append((path, kept))
        for temporary, path in staged:
            current = path
            replace(temporary, path)
    except OSError as error:
        _put_back(undo)
        raise WriteError(
            f"{current}: can't be written: {error.strerror or error}; nothing was changed"
        ) from None
    except BaseException:
        _put_back(undo)
        raise
    for path in undo.temporary:
        path.unlink(missing_ok=True)


def _make_folder(folder: Path, undo: _Undo) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        undo.folders.append(parent)


def _stage(path: Path, data: bytes, undo: _Undo) -> Path:
    """A temporary file with the data and the old file's mode, in the same folder."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    undo.temporary.append(temporary)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o644)
    return temporary


def _keep(path: Path, undo: _Undo) -> Path:
    """A copy of a file that is about to be replaced."""
    return _stage(path, path.read_bytes(), undo)


def _put_back(undo: _Undo) -> None:
    for path, kept in undo.replaced:
        with contextlib.suppress(OSError):
            if kept is not None:
                kept.replace(path)
            else:
                path.unlink(missing_ok=True)
    for path in undo.temporary:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    for folder in reversed(undo.folders):
        with contextlib.suppress(OSError):
            folder.rmdir()
