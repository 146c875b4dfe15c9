"""Write several files all or nothing, in an order in which a broken off write leaves a tree that runs.

A journal lies beside the files while they are written, from which the next command can finish or undo that.
Its first line says what is meant, the second is added when every new text is on the disk: without it the tree
is still the old one, with it the new one can be put in place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from codemods.program.source import Unusable

try:
    import fcntl
except ImportError:  # Windows has no such lock: there, two commands at once are up to the user.
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".codemods-journal"
_STAGED = b"staged\n"


class WriteError(Unusable):
    """Nothing was changed, or what is in the way must be looked at by a person; the message is one line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One file: its path, where its new text waits and its old one is kept, and digests of both.

    ``kept`` and ``old`` are None for a new file.
    """

    path: str
    staged: str
    kept: str | None
    old: str | None
    new: str

    def forget(self) -> None:
        """Remove the files beside it."""
        for name in filter(None, (self.staged, self.kept)):
            Path(name).unlink(missing_ok=True)

    def state(self) -> str:
        """Compare what is in its place now: ``old``, ``new`` or ``other``."""
        found = digest_of(Path(self.path))
        return "new" if found == self.new else "old" if found == self.old else "other"


@dataclass(frozen=True, slots=True)
class Intent:
    """All steps, in the order in which they are taken, and the folders that are made for them."""

    steps: Sequence[Step]
    folders: Sequence[str]


def digest(data: bytes) -> str:
    """Digest a text."""
    return hashlib.sha256(data).hexdigest()


def digest_of(path: Path) -> str | None:
    """The digest of a file; None if there is none."""
    try:
        return digest(path.read_bytes())
    except FileNotFoundError:
        return None


class Journal:
    """The journal of a write that is under way, held so that no other command takes it for a broken off
    one.
    """

    def __init__(self, path: Path, intent: Intent) -> None:
        self.path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        _lock(self._handle)
        self._append((json.dumps(asdict(intent)) + "\n").encode())

    def staged(self) -> None:
        """Note that every new text is on the disk."""
        self._append(_STAGED)

    def close(self) -> None:
        """Remove it: everything is done, or undone."""
        self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def _append(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._handle, data) :]
        os.fsync(self._handle)


def _lock(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def settle(folders: Iterable[Path]) -> Iterator[str]:
    """Finish or undo the writes that were broken off in some folders; a line for each says which.

    Raises:
        WriteError: if another command is writing there, or files were changed since.
    """
    for folder in dict.fromkeys(folders):
        try:
            journals = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
        except OSError:
            continue
        for path in journals:
            try:
                yield _settled(path)
            except OSError as error:
                reason = error.strerror or error
                raise WriteError(f"{path}: an interrupted write can't be settled: {reason}") from None


def _settled(path: Path) -> str:
    handle = os.open(path, os.O_RDWR)
    try:
        if not _lock(handle):
            raise WriteError(f"{path}: another command is writing here; wait until it is done")
        first, _, rest = path.read_bytes().partition(b"\n")
        try:
            noted = json.loads(first)
            intent = Intent([Step(**step) for step in noted["steps"]], noted["folders"])
        except (ValueError, KeyError, TypeError):
            # Broken off inside its first line: nothing else was begun.
            path.unlink()
            return f"{path}: a write was broken off before it began; nothing had been changed"
        names = ", ".join(Path(step.path).name for step in intent.steps)
        if rest.startswith(_STAGED):
            _finish(path, intent)
            done = f"a write of {names} was broken off half-way; it is finished now"
        else:
            _undo(intent)
            done = f"a write of {names} was broken off before it began; it is undone"
        path.unlink()
        return f"{path}: {done}"
    finally:
        os.close(handle)


def _finish(path: Path, intent: Intent) -> None:
    """Take the steps that were not taken; not over what somebody changed meanwhile."""
    states = [step.state() for step in intent.steps]
    for step, state in zip(intent.steps, states, strict=True):
        if state == "other" or (state == "old" and digest_of(Path(step.staged)) != step.new):
            raise WriteError(
                f"{step.path}: was changed after a write of it was broken off; make the files named in "
                f"{path} what they should be, and delete that journal"
            )
    for step, state in zip(intent.steps, states, strict=True):
        if state == "old":
            Path(step.staged).replace(step.path)
    for step in intent.steps:
        step.forget()


def _undo(intent: Intent) -> None:
    for step in intent.steps:
        step.forget()
    for folder in reversed(intent.folders):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


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
