"""Pairs of traces that are compared."""

from __future__ import annotations

import json
from pathlib import Path

from golden.trace.errors import UnusableInput

# What `golden ab --localize` found, as lines, beside the traces of both sides.
LOCALIZED = "localized.json"


def localized(left: Path, right: Path) -> list[str]:
    """Read what `golden ab --localize` found about two traces; nothing where it did not run.

    Raises `UnusableInput` if the file that says it is damaged.
    """
    left, right = left.resolve(), right.resolve()
    path = left.parent / LOCALIZED
    if left.parent != right.parent or (left.name, right.name) != ("base", "head") or not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(line, str) for line in found):
        raise UnusableInput(f"{path} is damaged; remove it, or run `golden ab --localize` again")
    return found


def trace_pairs(left: Path, right: Path) -> list[tuple[Path, Path]]:
    """Return the traces of two folders: themselves, or their subfolders by the name of the run."""
    for side in (left, right):
        if not side.is_dir():
            raise UnusableInput(f"no folder {side}")
    if (left / "trace.json").exists() or (right / "trace.json").exists():
        return [(left, right)]
    names = {side: {p.parent.name for p in side.glob("*/trace.json")} for side in (left, right)}
    if not names[left] or not names[right]:
        empty = left if not names[left] else right
        raise UnusableInput(f"{empty} is not a trace and holds none")
    if names[left] != names[right]:
        odd = ", ".join(sorted(names[left] ^ names[right]))
        raise UnusableInput(f"{left} and {right} don't hold the same runs: {odd} is on one side only")
    return [(left / name, right / name) for name in sorted(names[left])]
