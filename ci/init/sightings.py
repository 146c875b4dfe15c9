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
_METRICS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".log")
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
        files: metrics and checkpoints that it writes into the repository, as globs.
    """

    events: str | None = None
    type: str = "type"
    env: str | None = None
    unstable: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def look(outputs: Path, root: Path, since: float) -> Sightings:
    """Look at what a run wrote to its folder, and ``since`` then to the repository."""
    files = sorted(path for path in outputs.rglob("*") if path.is_file())
    records = {path: found for path in files if (found := _records(path))}
    every = [record for found in records.values() for record in found]
    kind = _type(every)
    if kind is None:
        # Without a kind they are no events, and compared as any file is.
        records = {}
    beside = sorted(path.relative_to(root).as_posix() for path in _written(root, since))
    globs = tuple(dict.fromkeys(_pattern(path) for path in beside if _is_metric(Path(path))))
    if kind is None:
        return Sightings(files=globs)
    paths = {path for record in every for path in _paths(record)}
    return Sightings(
        events=_glob(list(records), outputs),
        type=kind,
        env=next((name for name in _ENVS if any(isinstance(r.get(name), int) for r in every)), None),
        unstable=tuple(sorted(path for path in paths if _UNSTABLE.search(path.rpartition(".")[2].lower()))),
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


def _is_metric(path: Path) -> bool:
    return "tfevents" in path.name or path.suffix in (*_METRICS, *_CHECKPOINTS)
