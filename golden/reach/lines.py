"""The lines that a run executed, as its trace keeps them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "reached.json"
NOTES = "reached"
_UNSAVED = "none: a process that coverage traced was ended before it said what ran"


@dataclass(frozen=True, slots=True)
class Reached:
    """Lines that ran, by file; ``problem`` says why they are not known."""

    files: Mapping[str, frozenset[int]]
    problem: str = ""


def asked(files: Sequence[str], root: Path, folder: Path) -> dict[str, Any] | None:
    """Return the order for a run's processes to note lines of files below ``root``; None for no file."""
    if not files:
        return None
    return {"files": [str((root / path).resolve()) for path in files], "folder": str(folder / NOTES)}


def gather(files: Sequence[str], folder: Path) -> None:
    """Put what the processes of a run noted of some files in one file of its record."""
    if not files:
        return
    lines: dict[str, set[int]] = {path: set() for path in files}
    cores = set()
    unsaved = False
    for path in sorted((folder / NOTES).glob("process-*.txt")):
        traced = False
        for line in path.read_text().splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "core":
                cores.add(rest)
            elif kind in ("traced", "saved"):
                traced = kind == "traced"
            elif line:
                number, _, where = line.partition(":")
                lines[files[int(number)]].add(int(where))
        unsaved = unsaved or traced
    if unsaved:
        cores.add(_UNSAVED)
    shutil.rmtree(folder / NOTES, ignore_errors=True)
    problems = [core.partition(": ")[2] for core in sorted(cores) if core.startswith("none")]
    document = {
        "by": sorted(cores),
        "problem": problems[0] if problems else "" if cores else "no process of the run noted anything",
        "files": {path: sorted(found) for path, found in lines.items()},
    }
    (folder / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_reached(folder: Path) -> Reached | None:
    """Read the lines that ran from a trace; None if it was not asked for them."""
    path = folder / FILE
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    files = {name: frozenset(lines) for name, lines in document["files"].items()}
    return Reached(files, document["problem"])


def together(found: Iterable[Reached]) -> Reached:
    """Return the lines that ran in at least one of some runs; a problem of any is one of all."""
    known = list(found)
    return Reached(
        union(each.files for each in known), next((each.problem for each in known if each.problem), "")
    )


def union(found: Iterable[Mapping[str, Iterable[int]]]) -> dict[str, frozenset[int]]:
    """Return all lines that any of some tables has, by file."""
    files: dict[str, frozenset[int]] = {}
    for each in found:
        for path, lines in each.items():
            files[path] = files.get(path, frozenset()).union(lines)
    return files
