"""One run per GPU: a lock file for each device, held while a run is on it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_POLL_S = 0.2


def visible_devices(count: int) -> list[str]:
    """Return the names of the devices that this process may use: the caller's, or their numbers."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return [str(index) for index in range(count)]
    return [name.strip() for name in named.split(",") if name.strip()]


@contextlib.contextmanager
def locked_device(
    device: str, devices: Sequence[str], *, folder: Path | None = None
) -> Iterator[dict[str, str]]:
    """Wait for a device and hold it; the environment variables that put a run on it.

    ``cuda`` takes the first free one of ``devices``, ``cuda:N`` waits for the N-th. A process that dies
    lets go.
    """
    if not device.startswith("cuda") or not devices:
        yield {}
        return
    _, _, index = device.partition(":")
    chosen = [devices[int(index)]] if index.isdigit() and int(index) < len(devices) else list(devices)
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(_open(name, folder)) for name in chosen}
        while True:
            for name, file in files.items():
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # A device that is named by number keeps its number in the program's eyes.
                    yield {} if index else {"CUDA_VISIBLE_DEVICES": name}
                    return
            time.sleep(_POLL_S)


@contextlib.contextmanager
def _open(name: str, folder: Path | None) -> Iterator[int]:
    path = (folder or Path(tempfile.gettempdir())) / f"golden-cuda-{name.replace('/', '_')}.lock"
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDONLY, 0o644)
    except PermissionError:
        # Of another user; reading is enough to lock.
        descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
