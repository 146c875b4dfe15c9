"""The programs that this process runs now, so that a signal can end all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from golden.trace.errors import RunFailed


@dataclass(frozen=True, slots=True)
class Program:
    """A run that is under way; ``folder`` takes its record, ``budget`` is how many seconds it should take."""

    name: str
    folder: Path
    budget: float
    begun: float = field(default_factory=time.monotonic)


_lock = threading.Lock()
_live: dict[subprocess.Popen[bytes], Program] = {}
_stopped = threading.Event()


@contextlib.contextmanager
def registered(process: subprocess.Popen[bytes], program: Program) -> Iterator[None]:
    """Note a program while it runs; `RunFailed` if all are to end."""
    with _lock:
        _live[process] = program
    try:
        if _stopped.is_set():
            raise RunFailed("stopped")
        yield
    finally:
        with _lock:
            _live.pop(process, None)


def programs() -> list[Program]:
    """Return the programs that run now."""
    with _lock:
        return list(_live.values())


def count_steps(folder: Path) -> int:
    """Count the optimizer steps in the record of a run, of the process with the most."""
    counts = [path.read_text().count('{"step":') for path in folder.glob("process-*/steps.jsonl")]
    return max(counts, default=0)


def stop_all() -> None:
    """End every program with the processes of its group, and let no other one begin."""
    _stopped.set()
    # Called by a signal handler: the thread that it interrupts may hold the lock.
    for process in list(_live):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def stopping() -> bool:
    """Tell whether all programs are being ended."""
    return _stopped.is_set()


def allow() -> None:
    """Let programs begin again."""
    _stopped.clear()
