"""Reads of tensors by the host, counted by the place in the program that asks for them.

Each makes the host wait for a device. Wrapping the reading methods sees what a dispatch mode does not: reads
of CPU tensors, which become waits when the same program runs on a GPU.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading
import warnings
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

_READS = ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "__complex__", "__index__")
# These are made of other reads, whose number may follow from the values: each counts as one.
_COMPOSITE = ("__repr__", "__format__", "__array__", "__contains__")
_SYNC_WARNING = "called a synchronizing CUDA operation"
_TOOL = Path(__file__).resolve().parent.parent
_OWN = (str(_TOOL / "record") + os.sep, str(_TOOL / "trace") + os.sep)
_TORCH = str(Path(torch.__file__).parent) + os.sep
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_PROGRAM, _LIBRARY, _OBSERVER = range(3)

SiteRow = tuple[str, int, str, str]


class _Local(threading.local):
    """What one thread has read since it was last asked."""

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int, str], int] = {}
        self.inside = False


class ReadCounter:
    """Counts reads until the process ends."""

    def __init__(self) -> None:
        self._local = _Local()
        self._kinds: dict[int, int] = {}
        # Holding the code objects keeps their addresses from being given to others.
        self._codes: dict[int, CodeType] = {}
        self._here = Path.cwd()
        self.reset()

    def reset(self) -> None:
        """Forget what was counted, as a forked process must."""
        self._local.counts = {}
        self._numbers: dict[SiteRow, int] = {}
        self._site_of: dict[tuple[int, int, str], int] = {}

    def install(self) -> None:
        """Wrap the reading methods of tensors; on CUDA, have torch say when it waits."""
        for name in _READS:
            setattr(torch.Tensor, name, self._simple(name, getattr(torch.Tensor, name)))
        for name in _COMPOSITE:
            setattr(torch.Tensor, name, self._composite(name, getattr(torch.Tensor, name)))
        if torch.cuda.is_available():
            self._listen()
            # Runs when the program first uses CUDA, which is not for an observer to decide.
            later: Any = torch.cuda._lazy_call
            later(lambda: torch.cuda.set_sync_debug_mode("warn"))

    def _simple(self, name: str, original: Any) -> Any:
        local, frame_of, kinds, walk = self._local, sys._getframe, self._kinds, self._walk
        shown = name.strip("_")

        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            if not local.inside:
                frame = frame_of(1)
                code = id(frame.f_code)
                if kinds.get(code) == _PROGRAM:
                    key = (code, frame.f_lasti, shown)
                    local.counts[key] = local.counts.get(key, 0) + 1
                else:
                    walk(frame, shown)
            return original(*args, **kwargs)

        return read

    def _composite(self, name: str, original: Any) -> Any:
        local, frame_of, walk = self._local, sys._getframe, self._walk
        shown = name.strip("_")

        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            if local.inside:
                return original(*args, **kwargs)
            walk(frame_of(1), shown)
            local.inside = True
            try:
                return original(*args, **kwargs)
            finally:
                local.inside = False

        return read

    def _listen(self) -> None:
        """Count torch's warnings of synchronising operations, and keep them from the program's output."""
        warnings.filterwarnings("always", message=_SYNC_WARNING)
        shown = warnings.showwarning

        def showwarning(message: Any, *args: Any, **kwargs: Any) -> None:
            if not str(message).startswith(_SYNC_WARNING):
                shown(message, *args, **kwargs)
            elif not self._local.inside:
                # A read that is counted already is in a frame of this module.
                self._walk(sys._getframe(1), "sync")

        warnings.showwarning = showwarning

    def _walk(self, frame: FrameType | None, name: str) -> None:
        """Count for the nearest frame outside torch, numpy and the standard library; not for our own."""
        while frame is not None:
            kind = self._kind(frame.f_code)
            if kind == _OBSERVER:
                return
            if kind == _PROGRAM:
                counts, key = self._local.counts, (id(frame.f_code), frame.f_lasti, name)
                counts[key] = counts.get(key, 0) + 1
                return
            frame = frame.f_back

    def _kind(self, code: CodeType) -> int:
        kind = self._kinds.get(id(code))
        if kind is None:
            self._codes[id(code)] = code
            kind = self._kinds[id(code)] = _kind_of(code.co_filename)
        return kind

    def take(self) -> tuple[list[tuple[int, SiteRow]], list[tuple[int, int]]]:
        """Places seen for the first time, and the reads of this thread since the last call: place, count."""
        counts, self._local.counts = self._local.counts, {}
        fresh: list[tuple[int, SiteRow]] = []
        found: dict[int, int] = {}
        for key, count in counts.items():
            number = self._site_of.get(key)
            if number is None:
                row = self._row(*key)
                number = self._numbers.get(row)
                if number is None:
                    number = self._numbers[row] = len(self._numbers)
                    fresh.append((number, row))
                self._site_of[key] = number
            found[number] = found.get(number, 0) + count
        return fresh, sorted(found.items())

    def _row(self, code_id: int, instruction: int, name: str) -> SiteRow:
        code = self._codes[code_id]
        line = next((n for start, end, n in code.co_lines() if start <= instruction < end and n), 0)
        return _shown(Path(code.co_filename), self._here), line, code.co_qualname, name


def _kind_of(file: str) -> int:
    if file.startswith(_OWN):
        return _OBSERVER
    installed = any(name in file for name in _INSTALLED)
    if file.startswith((_TORCH, "<frozen")) or (file.startswith(_STANDARD) and not installed):
        return _LIBRARY
    return _LIBRARY if installed and f"{os.sep}numpy{os.sep}" in file else _PROGRAM


def _shown(path: Path, here: Path) -> str:
    if not path.is_absolute():
        return path.as_posix()
    for folder in (here, *sorted(map(Path, filter(None, sys.path)), key=lambda p: -len(p.parts))):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.name
