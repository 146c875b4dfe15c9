"""Names that say which env they belong to, and names of fields that can't repeat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path


def is_unstable(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a field is named unstable: a pattern with a dot matches the path, else any name."""
    name = path.rpartition(".")[2]
    return any(fnmatchcase(path if "." in pattern else name, pattern) for pattern in patterns)


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
