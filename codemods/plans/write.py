"""Write several files all or nothing, in an order in which a broken off write leaves a tree that runs."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from codemods.plans.journal import SUFFIX, Intent, Journal, Step, WriteError, digest


def write_all(
    files: Mapping[Path, bytes],
    *,
    journal: Path | None = None,
    replace: Callable[[Path, Path], object] = Path.replace,
) -> None:
    """Put every file in its place, in the order given, through files beside them.

    A command that is killed leaves a journal in the folder ``journal`` (by default that of the last file),
    from which `settle` goes on.

    Raises:
        WriteError: if any can't be written; what was there before is there again.
    """
    if not files:
        return
    folder = journal if journal is not None else list(files)[-1].parent
    token = secrets.token_hex(4)
    old = {path: path.read_bytes() if path.is_file() else None for path in files}
    steps = [_step(path, data, old[path], token) for path, data in files.items()]
    made = _missing([*(path.parent for path in files), folder])
    current = next(iter(files))
    held: Journal | None = None
    try:
        # The journal's own folder may be one of those to be made.
        _make(parent for parent in made if parent == folder or parent in folder.parents)
        held = Journal(
            folder / f".{current.name}.{token}{SUFFIX}", Intent(steps, [str(parent) for parent in made])
        )
        _make(made)
        for step, (path, data) in zip(steps, files.items(), strict=True):
            current, before = path, old[path]
            _stage(step.staged, path, data)
            if step.kept is not None and before is not None:
                _stage(step.kept, path, before)
        held.staged()
        for step in steps:
            current = Path(step.path)
            replace(Path(step.staged), current)
    except OSError as error:
        _put_back(steps, made, held)
        raise WriteError(
            f"{current}: can't be written: {error.strerror or error}; nothing was changed"
        ) from None
    except BaseException:
        _put_back(steps, made, held)
        raise
    for step in steps:
        step.forget()
    held.close()


def _step(path: Path, data: bytes, before: bytes | None, token: str) -> Step:
    beside = str(path.with_name(f".{path.name}.{token}.codemods"))
    kept = None if before is None else f"{beside}-old"
    return Step(str(path), f"{beside}-new", kept, None if before is None else digest(before), digest(data))


def _missing(folders: Iterable[Path]) -> list[Path]:
    """Folders that are not there, outermost first."""
    found = {p for folder in folders for p in (folder, *folder.parents) if not p.exists()}
    return sorted(found, key=lambda path: len(path.parts))


def _make(folders: Iterable[Path]) -> None:
    for folder in folders:
        folder.mkdir(exist_ok=True)


def _stage(staged: str, path: Path, data: bytes) -> None:
    """Put a text on the disk, with the mode of the file that it is to replace."""
    handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    Path(staged).chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o644)


def _put_back(steps: list[Step], made: list[Path], held: Journal | None) -> None:
    """The old tree again, by renames alone."""
    for step in reversed(steps):
        with contextlib.suppress(OSError):
            if step.old is None and step.state() == "new":
                Path(step.path).unlink()
            elif step.kept is not None and step.state() == "new":
                Path(step.kept).replace(step.path)
    for step in steps:
        with contextlib.suppress(OSError):
            step.forget()
    if held is not None:
        held.close()
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            folder.rmdir()


__all__ = ["WriteError", "write_all"]
