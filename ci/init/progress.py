"""A line now and then from what takes long."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

_EVERY_S = 10.0


@contextlib.contextmanager
def still(what: str, notify: Callable[[str], None]) -> Iterator[None]:
    """Say ``what`` is going on, at once and every ten seconds."""
    done = threading.Event()
    begun = time.monotonic()

    def tell() -> None:
        while not done.wait(_EVERY_S):
            notify(f"  still {what} ({time.monotonic() - begun:.0f} s)")

    notify(what)
    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
