"""How each process of several ended, and which of them is the cause that a run failed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from golden.record.ending import FILE

# What a process says when another one is gone, or doesn't answer.
_OF_ANOTHER = re.compile(
    r"closed by peer|reset by peer|Broken pipe|remote process|remote worker|Timed out waiting|timed out after"
    r"|Connection refused|barrier timeout|did not call monitoredBarrier|DistNetworkError",
    re.IGNORECASE,
)
_GONE = re.compile(r"closed by peer|reset by peer|Broken pipe|remote process exited", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ended:
    """A rank of a run: its steps; when it ended (None if it was killed, or goes on), and by which error.

    ``frames`` are file, line and function of the error, the innermost one last.
    """

    rank: int
    steps: int
    at: int | None
    error: str
    frames: tuple[tuple[str, int, str], ...]


def ranks(folder: Path) -> list[Ended]:
    """The ranks that a record has, in order; of one that was started again, the last."""
    found: dict[int, tuple[float, Ended]] = {}
    for path in folder.glob("process-*/process.json"):
        about = json.loads(path.read_text())
        if about["rank"] is None or not about["rank"].isdigit():
            continue
        note, lines = path.with_name(FILE), path.with_name("steps.jsonl")
        told = json.loads(note.read_text()) if note.exists() else {"at": None, "error": "", "frames": []}
        text = lines.read_text() if lines.exists() else ""
        steps = sum(line.startswith('{"step":') for line in text.splitlines())
        frames = tuple((file, line, name) for file, line, name in told["frames"])
        ended = Ended(int(about["rank"]), steps, told["at"], told["error"], frames)
        found[ended.rank] = max(
            (about["started"], ended), found.get(ended.rank, (0.0, ended)), key=lambda item: item[0]
        )
    return [found[rank][1] for rank in sorted(found)]


def first(known: list[Ended]) -> Ended | None:
    """The rank that ended first, as far as that can be told.

    One that only says that another one is gone was not the first, and one that was killed left no note.
    """
    closed = sorted((rank for rank in known if rank.at is not None), key=lambda rank: rank.at or 0)
    for rank in closed:
        if not _OF_ANOTHER.search(rank.error):
            return rank
    killed = [rank for rank in known if rank.at is None]
    return killed[0] if len(killed) == 1 and any(_GONE.search(rank.error) for rank in closed) else None
