"""Notes of processes about their end, made as they end; one that is killed makes none.

Loaded in every Python process of a run, before torch, so it imports nothing of weight.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = "ended"
_LONGEST = 300


def start(out: str) -> None:
    """Note the end of this process in the record of its run."""
    atexit.register(note_end, out)


def name_of_process() -> str:
    """Return a name for this process: two machines may give one number twice."""
    return f"{os.uname().nodename}-{os.getpid()}"


def note_end(out: str) -> None:
    """Write when and by which error this process ends, once; nothing where that can't be written."""
    path = Path(out, FOLDER, f"{name_of_process()}.json")
    error = getattr(sys, "last_value", None)
    said, frames = "", []
    if isinstance(error, BaseException):
        import traceback

        first, *more = "".join(traceback.format_exception_only(error)).strip().splitlines()
        said = first[:_LONGEST]
        frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError):
            # Its lines are the file's and a mark below what is wrong; the last one says it.
            said = more[-1][:_LONGEST] if more else said
            frames.append((str(error.filename), error.lineno, "<module>"))
        elif more and more[-1].strip():
            said = f"{said} … {more[-1].strip()[:_LONGEST]}"
    note: dict[str, Any] = {"at": time.time_ns(), "error": said, "frames": frames}
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x") as file:
            file.write(json.dumps(note))
    except OSError:
        return
