"""Write several files all or nothing, in an order in which a write that is killed leaves a tree that runs."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.program.source import Unusable


class WriteError(Unusable):
    """Nothing was changed; the message is one line."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One file, and the files beside it with its new text and its old one (None: it is new)."""

    path: Path
    staged: Path
    kept: Path | None

    def undo(self) -> None:
        """Put the old file back, by renames alone."""
        with contextlib.suppress(OSError):
            if self.kept is not None:
                self.kept.replace(self.path)
            else:
                self.path.unlink()

    def forget(self) -> None:
        """Remove the files beside it."""
        for path in filter(None, (self.staged, self.kept)):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def write_all(files: Mapping[Path, bytes], *, replace: Callable[[Path, Path], object] = Path.replace) -> None:
    """Put every file in its place, in the order given, once all of them are on the disk beside their places.

    Raises:
        WriteError: if any can't be written; what was there before is there again.
    """
    folders = _missing(path.parent for path in files)
    token = secrets.token_hex(4)
    steps: list[_Step] = []
    done: list[_Step] = []
    current = next(iter(files), Path())
    try:
        for folder in folders:
            folder.mkdir(exist_ok=True)
        for path, data in files.items():
            current, beside = path, str(path.with_name(f".{path.name}.{token}.codemods"))
            kept = Path(f"{beside}-old") if path.is_file() else None
            steps.append(_Step(path, Path(f"{beside}-new"), kept))
            _stage(steps[-1].staged, path, data)
            if kept is not None:
                _stage(kept, path, path.read_bytes())
        for step in steps:
            current = step.path
            replace(step.staged, step.path)
            done.append(step)
    except BaseException as error:
        _put_back(done, steps, folders)
        if isinstance(error, OSError):
            what = f"{current}: can't be written: {error.strerror or error}; nothing was changed"
            raise WriteError(what) from None
        raise
    for step in steps:
        step.forget()


def _missing(folders: Iterable[Path]) -> list[Path]:
    """Folders that are not there, outermost first."""
    found = {p for folder in folders for p in (folder, *folder.parents) if not p.exists()}
    return sorted(found, key=lambda path: len(path.parts))


def _stage(staged: Path, path: Path, data: bytes) -> None:
    """Put a text on the disk, with the mode of the file that it is to replace."""
    handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    staged.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o644)


def _put_back(done: Sequence[_Step], steps: Sequence[_Step], folders: Sequence[Path]) -> None:
    """Restore the old tree."""
    for step in reversed(done):
        step.undo()
    for step in steps:
        step.forget()
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()
