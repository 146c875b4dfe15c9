"""Outputs of a run for people and programs: printed lines, and written files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "outputs.jsonl"
STREAMS = ("stdout", "stderr")
_TREES = {"facts", "json", "checkpoint", "arrays", "pickle", "binary", "link", "removed"}


@dataclass(frozen=True, slots=True)
class Output:
    """One stream or file, by value: lines of text, rows of a table, points of a metric, or one tree.

    ``kind`` is what it was read as, ``name`` is ``stdout``, ``stderr`` or a path. In ``rows``, what is named
    unstable is left out or masked. ``unread`` says why its content could not be read, empty where it was.
    """

    kind: str
    name: str
    rows: tuple[Mapping[str, Any], ...]
    unread: str = ""

    @property
    def is_tree(self) -> bool:
        """True if it is one tree of fields, not a sequence."""
        return self.kind in _TREES

    @property
    def title(self) -> str:
        """The name that people call it."""
        return self.name if self.name in STREAMS or self.kind == "facts" else f"file {self.name}"


def _branches(value: Any, path: str) -> list[tuple[Any, Any, str]]:
    """Return what is directly in a tree, by key or index, with its dotted paths; nothing of a leaf."""
    items = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    return [(key, item, f"{path}.{key}" if path else str(key)) for key, item in items]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a tree with their dotted paths; an empty branch is a value."""
    branches = _branches(value, path)
    for _, item, below in branches:
        yield from leaves(item, below)
    if not branches:
        yield path, value


def mapped(value: Any, change: Callable[[str, Any], Any], path: str = "") -> Any:
    """Return a tree of the same form with other leaves: what ``change`` makes of their paths and values."""
    branches = _branches(value, path)
    if not branches:
        return change(path, value)
    found = {key: mapped(item, change, below) for key, item, below in branches}
    return list(found.values()) if isinstance(value, list) else found


def nesting(value: Any) -> Any:
    """Return how the fields of a tree lie in each other, which their dotted paths don't tell."""
    if isinstance(value, Mapping):
        return {key: nesting(item) for key, item in value.items()}
    return [nesting(item) for item in value] if isinstance(value, list) else 0


def write_outputs(folder: Path, outputs: Iterable[Output]) -> None:
    """Write what a run produced into its trace."""
    with (folder / FILE).open("w", encoding="utf-8") as file:
        for found in outputs:
            record = {"kind": found.kind, "name": found.name, "unread": found.unread, "rows": found.rows}
            file.write(json.dumps(record) + "\n")
