"""Repositories as people have them, tiny. None knows this project; each is a file of this folder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

Change = tuple[str, str, str]
"""A file, what stands in it, and what comes in its place."""


@dataclass(frozen=True)
class Foreign:
    """A repository, its files that git ignores, and three changes of it."""

    files: dict[str, str]
    ignored: dict[str, str]
    behaviour: Change
    stall: Change
    refactoring: Change


def load(name: str) -> Foreign:
    """Read one of them."""
    text = Path(__file__).with_name(f"{name}.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    files, ignored = tables.pop("files"), tables.pop("ignored")
    changes = {kind: (entry["file"], entry["before"], entry["after"]) for kind, entry in tables.items()}
    return Foreign(files, ignored, **changes)
