"""Occasions to look at everything that lives: steps, ends of epochs, files that are written.

Each kind of occasion is taken at first every time, then ever less often: 8 times for each doubling of its
number (4 for steps, which show what they step themselves), so that a long run costs no more of its time than
a short one. What is taken depends on numbers only, never on time, so that two runs look at the same places.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from . import writes
from .hooks import put


def is_due(number: int, often: int = 3) -> bool:
    """Tell whether to look at the occasion with this number, from 0: 2 ** ``often`` times a doubling."""
    return not number >> (often + 1) or not number & ((1 << (number.bit_length() - often - 1)) - 1)


class Occasions:
    """Calls ``look`` with the name of an occasion in the thread that runs the program."""

    def __init__(self, folder: Path, look: Callable[[str], None]) -> None:
        self._folder, self._look = f"{folder.resolve()}{os.sep}", look
        self._seen: Counter[str] = Counter()
        self._inside = False
        # What these read to the host is nowhere counted.
        self.loader_processes = 0

    def install(self) -> None:
        """Listen to files that are opened for writing, to torch.save, and to loaders that are iterated."""
        writes.listeners.append(self._on_write)
        save, iterate = torch.save, DataLoader.__iter__

        @functools.wraps(save)
        def observed_save(*args: Any, **kwargs: Any) -> Any:
            self._on("torch.save")
            # Most are written without Python.
            writes.note(args[1] if len(args) > 1 else kwargs.get("f"))
            return save(*args, **kwargs)

        @functools.wraps(iterate)
        def observed_iter(loader: Any) -> Any:
            self.loader_processes = max(self.loader_processes, loader.num_workers)
            self._on("loader")
            return iterate(loader)

        put(torch, "save", observed_save)
        DataLoader.__iter__ = observed_iter  # type: ignore[method-assign]

    def _on_write(self, path: str) -> None:
        full = os.path.abspath(path)  # noqa: PTH100 - quicker, and every file that is written comes here
        if full.startswith(self._folder):
            self._on(f"file {full[len(self._folder) :]}")

    def _on(self, what: str) -> None:
        if self._inside or threading.current_thread() is not threading.main_thread():
            return
        number = self._seen[what]
        self._seen[what] += 1
        if is_due(number):
            self._inside = True
            try:
                self._look(f"{what}, time {number + 1}")
            finally:
                self._inside = False
