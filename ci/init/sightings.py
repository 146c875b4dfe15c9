"""What a run writes: events as JSON lines, and metrics of other kinds."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TYPES = ("type", "kind", "event", "event_type", "name", "tag", "msg", "message")
_ENVS = ("env", "env_id", "env_idx", "env_index", "worker", "worker_id")
_UNSTABLE = re.compile(
    r"(^|_)(time|times|timestamp|ts|date|datetime|duration|elapsed|seconds|secs|ms|wall|walltime|fps|sps|uuid|pid|host"
    r"|hostname|run_id|event_id|eta|throughput)(_|$)|_s$|_ms$|per_s(ec(ond)?)?$",
)
_CHECKPOINTS = (".pt", ".pth", ".ckpt", ".tar", ".model", ".safetensors", ".npz", ".npy", ".bin", ".pkl")
_NUMBER = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?|\bnan\b")
_LINES = 2000
# A time, a date, a process: another one in the next run.
_NUMBERED = re.compile(r"(events\.out\.tfevents)\..*|\d{4}-?\d{2}-?\d{2}[^/]*|\d{6,}[^/.]*")


@dataclass(frozen=True, slots=True)
class Sightings:
    """What was seen.

    Attributes:
        events: glob of the JSON-lines files that it writes to {out}; None without any.
        type: the field that names the kind of event.
        env: the field that holds an env's number, if there is one.
        unstable: fields whose names say that they can't repeat.
        metrics: other things that hold numbers, in words.
        files: those of them that are in the repository, as globs.
    """

    events: str | None = None
    type: str = "type"
    env: str | None = None
    unstable: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def look(outputs: Path, stdout: Path, root: Path, since: float) -> Sightings:
    """Look at what a run wrote to its folder, ``since`` then to the repository, and what it printed."""
    files = sorted(path for path in outputs.rglob("*") if path.is_file())
    records = {path: found for path in files if (found := _records(path))}
    every = [record for found in records.values() for record in found]
    kind = _type(every)
    if kind is None:
        # Without a kind they are no events, and compared as any file is.
        records = {}
    beside = sorted(_written(root, since))
    printed = tuple(_printed(stdout))
    inside = {path: held for path in files if path not in records and (held := _metric(path))}
    elsewhere = {path.relative_to(root).as_posix(): held for path in beside if (held := _metric(path))}
    metrics = (
        *(f"{held}: {{out}}/{path.relative_to(outputs).as_posix()}" for path, held in inside.items()),
        *(f"{held}: {path}" for path, held in elsewhere.items()),
        *printed,
    )
    globs = tuple(dict.fromkeys(map(_pattern, elsewhere)))
    if kind is None:
        return Sightings(metrics=metrics, files=globs)
    paths = {path for record in every for path in _paths(record)}
    return Sightings(
        events=_glob(list(records), outputs),
        type=kind,
        env=next((name for name in _ENVS if any(isinstance(r.get(name), int) for r in every)), None),
        unstable=tuple(sorted(path for path in paths if _UNSTABLE.search(path.rpartition(".")[2].lower()))),
        metrics=metrics,
        files=globs,
    )


def _pattern(path: str) -> str:
    """A glob for a file and for its like of other runs: a part of its path with this year is a date."""
    year = time.strftime("%Y")
    parts = [part if year not in part or "tfevents" in part else "*" for part in path.split("/")]
    parts[-1] = parts[-1] if parts[-1] != "*" else f"*{Path(path).suffix}"
    return _NUMBERED.sub(lambda m: f"{m[1] or ''}*", "/".join(parts))


def _records(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; none if it is another kind of file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[:_LINES]
        records = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError):
        return []
    if path.suffix not in (".jsonl", ".ndjson") and len(records) <= 1:
        return []  # a file of settings, say
    return records if all(isinstance(record, dict) for record in records) else []


def _type(records: list[dict[str, Any]]) -> str | None:
    """The field with the kind of event: a word in every record; None where there is no such field."""
    if not records:
        return None
    for name in _TYPES:
        values = [record.get(name) for record in records]
        if all(isinstance(value, str) for value in values):
            return name
    return None


def _glob(paths: list[Path], outputs: Path) -> str:
    names = [path.relative_to(outputs).as_posix() for path in paths]
    if len(names) == 1 and not re.search(r"\d{4,}", names[0]):
        return names[0]
    suffixes = {path.suffix for path in paths}
    ending = f"*{suffixes.pop()}" if len(suffixes) == 1 else "*"
    return f"**/{ending}" if any("/" in name for name in names) else ending


def _paths(record: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in record.items():
        path = f"{before}.{key}" if before else str(key)
        yield path
        if isinstance(value, dict):
            yield from _paths(value, path)


def _written(root: Path, since: float) -> Iterator[Path]:
    for place, names, files in os.walk(root):
        folder = Path(place)
        names[:] = [name for name in names if not name.startswith(".") and name != "__pycache__"]
        for name in files:
            with contextlib.suppress(OSError):
                if (folder / name).stat().st_mtime >= since:
                    yield folder / name


def _metric(path: Path) -> str | None:
    """What kind of numbers a file holds; None for files of other kinds."""
    if "tfevents" in path.name:
        return "TensorBoard"
    if path.suffix in (".csv", ".tsv"):
        return "CSV"
    if path.suffix in _CHECKPOINTS:
        return "checkpoint"
    if path.suffix in (".jsonl", ".ndjson"):
        return "JSON lines"
    if path.suffix == ".json":
        return "JSON"
    return "text" if path.suffix in (".txt", ".log") else None


def _printed(stdout: Path) -> Iterator[str]:
    lines = stdout.read_text("utf-8", "replace").splitlines() if stdout.is_file() else []
    numbered = sum(bool(_NUMBER.search(line)) for line in lines)
    if numbered:
        yield f"standard output: {numbered} lines with numbers"
