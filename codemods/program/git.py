"""Files of a git repository's commits, and their contents."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from codemods.program.source import SourceError


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a commit or of the index; `kind` is as git's mode says: a file, a link or a submodule."""

    path: str
    mode: str
    blob: str

    @property
    def kind(self) -> str:
        """``file``, ``link`` or ``submodule``."""
        return {"120000": "link", "160000": "submodule"}.get(self.mode, "file")


@dataclass(frozen=True, slots=True)
class Git:
    """A folder of a repository; `instead` is what a user without git can do."""

    folder: Path
    instead: str

    def run(self, *arguments: str, given: bytes | None = None) -> bytes:
        """Return the output of a git command.

        Raises:
            SourceError: if there is no git, or by what it says itself when it fails.
        """
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=self.folder, input=given, capture_output=True, check=False
            )
        except FileNotFoundError:
            raise SourceError(f"git is not installed; {self.instead}") from None
        if done.returncode:
            told = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SourceError((told or ["git failed"])[0])
        return done.stdout

    def top(self) -> Git:
        """The repository's own folder."""
        return Git(Path(self.run("rev-parse", "--show-toplevel").decode().strip()), self.instead)

    def commit(self, reference: str) -> str | None:
        """The commit of a branch, a tag or an abbreviated name; None if there is none.

        Raises:
            SourceError: if the folder is in no repository.
        """
        self.run("rev-parse", "--git-dir")
        try:
            return self.run("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}").decode().strip()
        except SourceError:
            return None

    def tree(self, commit: str) -> list[Entry]:
        """Every path of a commit, from the repository's top."""
        return _entries(self.run("ls-tree", "-r", "-z", "--full-tree", commit), blob=2)

    def index(self) -> list[Entry]:
        """Every path that git tracks below this folder."""
        return _entries(self.run("ls-files", "-z", "--stage"), blob=1)


def _entries(listed: bytes, blob: int) -> list[Entry]:
    found = []
    for entry in listed.split(b"\0"):
        meta, _, name = entry.partition(b"\t")
        if name:
            columns = meta.decode().split()
            found.append(Entry(os.fsdecode(name), columns[0], columns[blob]))
    return found


class Objects:
    """Contents of a repository's objects, all from one process."""

    def __init__(self, git: Git) -> None:
        command, pipe = ["git", "cat-file", "--batch"], subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=git.folder, stdin=pipe, stdout=pipe)

    def read(self, blob: str) -> bytes:
        """The content of an object that is there."""
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        sink.write(blob.encode() + b"\n")
        sink.flush()
        size = int(source.readline().split()[2])
        return source.read(size + 1)[:size]

    def __del__(self) -> None:
        self._process.communicate()
