"""The project's files as they will be: what plans made so far, over what is on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from codemods.facts.source import Source, SourceError, decode_source, read_source


@dataclass
class Overlay:
    """Made files by path; those of them that only refer to what moved; the files that plans take apart, and
    where the rest of each went. Files that are ``absent`` count as not there until they are made.
    """

    absent: frozenset[Path] = frozenset()
    made: dict[Path, bytes] = field(default_factory=dict)
    followers: set[Path] = field(default_factory=set)
    sources: set[Path] = field(default_factory=set)
    rests: dict[Path, Path] = field(default_factory=dict)

    def exists(self, path: Path) -> bool:
        """Whether there will be such a file."""
        return path in self.made or (path not in self.absent and path.exists())

    def counts(self, path: Path) -> bool:
        """Whether a file of the tree is one of those that plans see."""
        return path not in self.absent or path in self.made

    def source(self, path: Path, shown: str) -> Source:
        """A file as a source.

        Raises:
            SourceError: if it can't be used.
        """
        if path in self.made:
            return decode_source(self.made[path], shown)
        if path in self.absent:
            raise SourceError(f"{shown}: is not there before the plan that makes it")
        return read_source(path, shown)

    def data(self, path: Path) -> bytes:
        """A file's bytes."""
        return self.made[path] if path in self.made else path.read_bytes()

    def found(self, path: Path) -> bytes | None:
        """A file's bytes; None where there will be no such file."""
        if path in self.made:
            return self.made[path]
        return path.read_bytes() if path not in self.absent and path.is_file() else None

    def start_of(self, path: Path, shown: str, *, fresh: bool) -> Source | None:
        """What a target has before definitions are added: nothing, where plans make it afresh each time.

        Raises:
            SourceError: if the file that is there is not Python.
        """
        if path in self.made and not (fresh and path in self.followers):
            return decode_source(self.made[path], shown)
        return None if fresh or not self.exists(path) else read_source(path, shown)

    def put(self, path: Path, source: Source | None, text: str) -> None:
        """Make or replace a file, in a source's encoding; in UTF-8 without one."""
        self.made[path] = text.encode("utf-8") if source is None else source.encode(text)
        self.followers.discard(path)
