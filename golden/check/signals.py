"""A command that is told to end takes its programs with it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from golden.record.live import allow, stop_all

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ended(BaseException):
    """A signal ended the command; ``code`` is the exit status that says which."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    # A second one must not cut short what removes scratch folders.
    for known in _ENDING:
        signal.signal(known, signal.SIG_IGN)
    stop_all()
    raise Ended(number)


@contextlib.contextmanager
def ending_programs() -> Iterator[None]:
    """Within it SIGTERM, SIGHUP and SIGINT end all programs under test and raise `Ended`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    allow()
    try:
        for number in _ENDING:
            # Under nohup a hang-up is to be ignored.
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, _end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        allow()
