"""The journal of a write: what is put in place in which order, so that the next command can finish or
undo it.

It lies beside the files while they are written. Its first line says what is meant, the second is added when
every new text is on the disk: without it the tree is still the old one, with it the new one can be put in
place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from codemods.facts.source import Unusable

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
        """What is in its place now: ``old``, ``new`` or ``other``."""
        found = digest_of(Path(self.path))
        return "new" if found == self.new else "old" if found == self.old else "other"


@dataclass(frozen=True, slots=True)
class Intent:
    """All steps, in the order in which they are taken, and the folders that are made for them."""

    steps: Sequence[Step]
    folders: Sequence[str]


def digest(data: bytes) -> str:
    """What a text is recognised by."""
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
