"""The programs that this process runs now, so that a signal can end all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

from golden.trace.errors import RunFailed

_lock = threading.Lock()
_live: set[subprocess.Popen[bytes]] = set()
_stopped = threading.Event()


@contextlib.contextmanager
def registered(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Note a program while it runs; `RunFailed` if all are to end."""
    with _lock:
        _live.add(process)
    try:
        if _stopped.is_set():
            raise RunFailed("stopped")
        yield
    finally:
        with _lock:
            _live.discard(process)


def stop_all() -> None:
    """End every program with the processes of its group, and let no other one begin."""
    _stopped.set()
    # Called by a signal handler: the thread that it interrupts may hold the lock.
    for process in list(_live):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def allow() -> None:
    """Let programs begin again."""
    _stopped.clear()
