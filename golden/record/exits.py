"""Ends of the processes of a run, and which of them is the cause that it failed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from golden.record.exit_notes import FOLDER

# What a process says when another one is gone, or doesn't answer.
_OF_ANOTHER = re.compile(
    r"closed by peer|reset by peer|Broken pipe|remote process|remote worker|Timed out waiting|timed out after"
    r"|Connection refused|barrier timeout|did not call monitoredBarrier|DistNetworkError",
    re.IGNORECASE,
)
_GONE = re.compile(r"closed by peer|reset by peer|Broken pipe|remote process exited", re.IGNORECASE)
# What torchrun raises when a rank has failed, behind what it says of the rank.
_LAUNCHER = "ChildFailedError"
_TRACEBACK = "Traceback (most recent call last):"
_LONGEST = 500
_GOLDEN = Path(__file__).resolve().parents[1]
Frame = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class End:
    """The time at which a process ended (None if it was killed, or goes on), and its error.

    ``frames`` are file, line and function of the error, the innermost one last.
    """

    at: int | None = None
    error: str = ""
    frames: tuple[Frame, ...] = ()

    def text(self, root: Path) -> str:
        """Return the error, and the innermost of its lines that is in a tree."""
        place = place_of(self.frames, root.resolve())
        return f"{self.error} ({place})" if place else self.error


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank of a run: its number, its steps, its end."""

    number: int
    steps: int
    end: End


def ranks(folder: Path) -> list[Rank]:
    """Return the ranks that a record has, in order; of one that was started again, the last."""
    notes = _notes(folder)
    found: dict[int, tuple[float, Rank]] = {}
    for path in folder.glob("process-*/process.json"):
        about = json.loads(path.read_text())
        if about["rank"] is None or not about["rank"].isdigit():
            continue
        lines = path.with_name("steps.jsonl")
        text = lines.read_text() if lines.exists() else ""
        steps = sum(line.startswith('{"step":') for line in text.splitlines())
        rank = Rank(int(about["rank"]), steps, notes.get(about["name"], End()))
        known = found.get(rank.number)
        if known is None or known[0] <= about["started"]:
            found[rank.number] = about["started"], rank
    return [found[number][1] for number in sorted(found)]


def first(known: list[Rank]) -> Rank | None:
    """Return the rank that ended first, as far as that can be told.

    One that only says that another one is gone was not the first, and one that was killed left no note.
    """
    closed = sorted((rank for rank in known if rank.end.at is not None), key=lambda rank: rank.end.at or 0)
    for rank in closed:
        if not _OF_ANOTHER.search(rank.end.error):
            return rank
    killed = [rank for rank in known if rank.end.at is None]
    return killed[0] if len(killed) == 1 and any(_GONE.search(r.end.error) for r in closed) else None


def why(folder: Path, process: str, root: Path) -> str:
    """Say why a program failed that was started as a process: its error, else the last line that it printed.

    A launcher, and a shell, say nothing of the error: the one process that has one does.
    """
    notes = _notes(folder)
    errors = [end for end in notes.values() if end.error and _LAUNCHER not in end.error]
    end = notes.get(process)
    if end is not None and end in errors:
        return end.text(root)
    launched = end is not None and _LAUNCHER in end.error
    if len(errors) == 1 and (end is None or launched):
        return errors[0].text(root)
    printed = (folder / "stderr.txt").read_text(errors="replace")
    if launched:
        printed = printed.rpartition(_TRACEBACK)[0]
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return lines[-1][:_LONGEST] if lines else "(nothing on stderr)"


def _notes(folder: Path) -> dict[str, End]:
    found = {}
    for path in (folder / FOLDER).glob("*.json"):
        # One that is being written says nothing yet.
        if text := path.read_text():
            note = json.loads(text)
            frames = tuple((file, line, name) for file, line, name in note["frames"])
            found[path.stem] = End(note["at"], note["error"], frames)
    return found


def place_of(frames: Sequence[Frame], root: Path) -> str | None:
    """Return the innermost of some frames that is in the tree."""
    for file, line, name in reversed(frames):
        path = root / file
        own = path.is_relative_to(root) and not path.is_relative_to(_GOLDEN)
        if own and "site-packages" not in path.parts and path.is_file():
            return f"{path.relative_to(root)}:{line}" + (f", in {name}" if name != "<module>" else "")
    return None
