"""How a process notes its end as it ends, which one that is killed can't."""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path

FILE = "ended.json"
_LONGEST = 300


def note_end(folder: Path) -> None:
    """Write when and by which error this process ends; nothing where that can't be written."""
    error = getattr(sys, "last_value", None)
    said, frames = "", []
    if isinstance(error, BaseException):
        said = "".join(traceback.format_exception_only(error)).strip().partition("\n")[0][:_LONGEST]
        frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
    try:
        (folder / FILE).write_text(json.dumps({"at": time.time_ns(), "error": said, "frames": frames}))
    except OSError:
        return
