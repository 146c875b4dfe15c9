"""Patterns of fields that can't repeat, and of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path


def is_named(path: str, pattern: str) -> bool:
    """Tell whether a pattern names a field: with a dot it matches the path, else the last name of it."""
    return fnmatchcase(path if "." in pattern else path.rpartition(".")[2], pattern)


class Patterns:
    """The fields that can't repeat, as patterns; ``seen`` are those that named a field so far."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self.patterns = tuple(patterns)
        self.seen: set[str] = set()
        self._naming: dict[str, list[str]] = {}

    def name(self, path: str) -> bool:
        """Tell whether they name a field."""
        found = self._naming.get(path)
        if found is None:
            found = self._naming[path] = [each for each in self.patterns if is_named(path, each)]
        self.seen.update(found)
        return bool(found)


def matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder that a pattern names.

    ``**`` stands for any folders, at the end for all files below; a folder stands for all files below it.
    """
    parts = []
    for part in pattern.split("/"):
        # Within a name, two stars are those of a name behind those of folders: `**.json`.
        parts += ["**", part.replace("**", "*")] if "**" in part and part != "**" else [part]
    if parts[-1] == "**":
        parts.append("*")
    for path in folder.glob("/".join(part for part in parts if part)):
        if path.is_file():
            yield path
        elif path.is_dir() and not any(mark in pattern for mark in "*?["):
            yield from (below for below in path.rglob("*") if below.is_file())
