"""Reads of tensors by the host, counted by the place in the program that asks for them.

Each makes the host wait for a device. Wrapping the reading methods sees what a dispatch mode does not: reads
of CPU tensors, which become waits when the same program runs on a GPU.
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import os
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
import xxhash

from ..trace.digest import described
from .hooks import identity, unseen

_READS = ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "__complex__", "__index__")
# These are made of other reads, whose number may follow from the values: each counts as one.
_COMPOSITE = ("__repr__", "__format__", "__array__", "__contains__")
_SYNC_WARNING = "called a synchronizing CUDA operation"
_TOOL = Path(__file__).resolve().parent.parent
_OWN = tuple(str(_TOOL / folder) + os.sep for folder in ("kinds", "record", "simulated", "trace"))
_TORCH = str(Path(torch.__file__).parent) + os.sep
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_PROGRAM, _LIBRARY, _OBSERVER = range(3)

SiteRow = tuple[str, int, str, str]
Key = tuple[int, int, str]
# What these give may be changed by the program later: it is digested at once.
_OF_MEMORY = {"tolist", "cpu", "numpy", "array"}
# So many values of one place are kept before they are folded into a digest, and so few are told as they are.
_KEPT_AT_MOST, _TOLD_AT_MOST = 1024, 4


class _Local(threading.local):
    """The reads of one thread since it was last asked."""

    def __init__(self) -> None:
        self.counts: dict[Key, int] = {}
        self.values: dict[Key, list[Any]] = {}
        self.inside = False


class ReadCounter:
    """Counts reads until the process ends, and keeps what they gave; ``write`` takes a record.

    The values of functions that a pattern among ``unstable`` names are not kept. Without ``memory``, only
    numbers and text are: what a program reads out of memory that it has not written yet repeats only where
    torch fills it.
    """

    def __init__(
        self, write: Callable[[dict[str, Any]], None], *, memory: bool, unstable: Sequence[str]
    ) -> None:
        self._write, self._with_memory, self._unstable = write, memory, tuple(unstable)
        self._local = _Local()
        self._kinds: dict[int, int] = {}
        # Holding the code objects keeps their addresses from being given to others.
        self._codes: dict[int, CodeType] = {}
        self._here = Path.cwd()
        self.reset()

    def reset(self) -> None:
        """Forget what was counted, as a forked process must."""
        self._local.counts, self._local.values = {}, {}
        self._numbers: dict[SiteRow, int] = {}
        self._site_of: dict[tuple[int, int, str], int] = {}
        self._left_out: set[int] = set()

    def install(self) -> None:
        """Wrap the reading methods of tensors; on CUDA, have torch say when it waits."""
        for name in (*_READS, *_COMPOSITE):
            setattr(torch.Tensor, name, self._counting(name, composite=name in _COMPOSITE))
        if torch.cuda.is_available():
            self._listen()
            # Runs when the program first uses CUDA, which is not for an observer to decide.
            later: Any = torch.cuda._lazy_call
            later(lambda: torch.cuda.set_sync_debug_mode("warn"))

    def _counting(self, name: str, *, composite: bool) -> Any:
        """Return a method that counts its calls and keeps what they give."""
        original = getattr(torch.Tensor, name)
        local, frame_of, walk, shown = self._local, sys._getframe, self._walk, name.strip("_")
        keep = self._keeper(shown)

        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            if local.inside:
                return original(*args, **kwargs)
            key = walk(frame_of(1), shown)
            local.inside = composite
            try:
                value = original(*args, **kwargs)
                if key is not None and keep is not None:
                    keep(key, value)
                return value
            finally:
                local.inside = False

        return read

    def _keeper(self, shown: str) -> Any:
        """Return the function that keeps a value that was read; None if none is to be kept."""
        local, of_memory = self._local, shown in _OF_MEMORY
        if of_memory and not self._with_memory:
            return None

        def keep(key: Key, value: Any) -> None:
            kept = local.values.get(key)
            if kept is None:
                kept = local.values[key] = []
            kept.append(_digest(value) if of_memory else value)
            if len(kept) > _KEPT_AT_MOST:
                kept[:] = [_digest(kept)]

        return keep

    @contextlib.contextmanager
    def muted(self) -> Iterator[None]:
        """Count nothing that this thread reads meanwhile."""
        before, self._local.inside = self._local.inside, True
        try:
            yield
        finally:
            self._local.inside = before

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

    def _walk(self, frame: FrameType | None, name: str) -> Key | None:
        """Count for, and give, the nearest frame outside torch, numpy, the standard library and this tool."""
        while frame is not None:
            kind = self._kind(frame.f_code)
            if kind == _OBSERVER:
                return None
            if kind == _PROGRAM:
                counts, key = self._local.counts, (identity(frame.f_code), frame.f_lasti, name)
                counts[key] = counts.get(key, 0) + 1
                return key
            frame = frame.f_back
        return None

    def _kind(self, code: CodeType) -> int:
        kind = self._kinds.get(identity(code))
        if kind is None:
            self._codes[identity(code)] = code
            kind = self._kinds[identity(code)] = _kind_of(code)
        return kind

    def take(self) -> dict[str, Any]:
        """Return counts and values by place of this thread since the last call; write places that are new."""
        counts, self._local.counts = self._local.counts, {}
        kept, self._local.values = self._local.values, {}
        values: dict[int, list[Any]] = {}
        found: dict[int, int] = {}
        for key, count in counts.items():
            number = self._site_of.get(key)
            if number is None:
                row = self._row(*key)
                number = self._numbers.get(row)
                if number is None:
                    number = self._numbers[row] = len(self._numbers)
                    file, line, function, read = row
                    self._write(
                        {"site": number, "file": file, "line": line, "function": function, "read": read}
                    )
                    if any(fnmatchcase(function, pattern) for pattern in self._unstable):
                        self._left_out.add(number)
                self._site_of[key] = number
            found[number] = found.get(number, 0) + count
            if key in kept and number not in self._left_out:
                values.setdefault(number, []).extend(kept[key])
        told = [(number, _told(values[number])) for number in sorted(values)]
        return {"reads": sorted(found.items()), "values": told}

    def _row(self, code_id: int, instruction: int, name: str) -> SiteRow:
        code = self._codes[code_id]
        line = next((n for start, end, n in code.co_lines() if start <= instruction < end and n), 0)
        return _shown(Path(code.co_filename), self._here), line, code.co_qualname, name


def _told(values: list[Any]) -> str:
    """Return a few numbers as they are, else a digest."""
    if len(values) <= _TOLD_AT_MOST and all(isinstance(v, (int, float, complex)) for v in values):
        return ", ".join(map(repr, values))
    return f"{len(values)} values {_digest(values)}" if len(values) > 1 else _digest(values[0])


def _digest(value: Any) -> str:
    """Digest what a read gave: a number, text, a list, an array or a tensor; exact to the bit."""
    if isinstance(value, torch.Tensor):
        with unseen():
            if value.device.type != "cpu" or value.layout is not torch.strided:
                return f"tensor{list(value.shape)}"
            return described(value)
    if hasattr(value, "tobytes"):
        if value.dtype.hasobject:
            return "objects"
        return f"{value.dtype}{list(value.shape)} {xxhash.xxh3_64_hexdigest(value.tobytes())}"
    try:
        # In this version it has no references, which would tell how often an object is in use.
        return xxhash.xxh3_64_hexdigest(marshal.dumps(value, 2))
    except ValueError:
        return type(value).__name__


def place_of(frame: FrameType | None) -> str:
    """Return file, line and function of the nearest frame of the program's own; empty if there is none."""
    here = Path.cwd()
    while frame is not None:
        code = frame.f_code
        if _kind_of(code) == _PROGRAM:
            return f"{_shown(Path(code.co_filename), here)}:{frame.f_lineno} {code.co_qualname}"
        frame = frame.f_back
    return ""


def is_program(frame: FrameType) -> bool:
    """Tell whether a frame is the program's own, or of a package that trains for it."""
    return _kind_of(frame.f_code) == _PROGRAM


def _kind_of(code: CodeType) -> int:
    file = code.co_filename
    if file.startswith(_OWN):
        # Functions that stand for one that the program or torch calls, and call it.
        return _LIBRARY if code.co_name.startswith("observed_") else _OBSERVER
    installed = any(name in file for name in _INSTALLED)
    if file.startswith((_TORCH, "<frozen")) or (file.startswith(_STANDARD) and not installed):
        return _LIBRARY
    # Torch computes shapes with sympy.
    library = any(f"{os.sep}{name}{os.sep}" in file for name in ("numpy", "sympy"))
    return _LIBRARY if installed and library else _PROGRAM


def _shown(path: Path, here: Path) -> str:
    if not path.is_absolute():
        return path.as_posix()
    for folder in (here, *sorted(map(Path, filter(None, sys.path)), key=lambda p: -len(p.parts))):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.name
