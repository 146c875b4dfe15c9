"""Places in the program, and how often the host waits for the device at each."""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

# The code object's identity and the instruction in it.
Place = tuple[int, int]
NOWHERE: Place = (0, 0)
_HOME = Path(__file__).resolve().parent
_OWN = str(_HOME) + os.sep
_OBSERVER = tuple(str(_HOME.parent / name) + os.sep for name in ("kinds", "record", "trace", "reach"))
_TORCH = str(Path(torch.__file__).resolve().parent) + os.sep
_DEFAULT = f"{_TORCH}utils{os.sep}_device.py"
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_COMPREHENSION = re.compile(r"((^|\.<locals>\.|\.)<(list|set|dict)comp>)+$")
_PROGRAM, _LIBRARY, _TORCHS, _TOOLS = range(4)
_codes: dict[int, CodeType] = {}
_kinds: dict[int, int] = {}
_HERE = Path.cwd()


def _kind(code: CodeType) -> int:
    kind = _kinds.get(id(code))
    if kind is None:
        # Holding the code objects keeps their addresses from being given to others.
        _codes[id(code)] = code
        kind = _kinds[id(code)] = _kind_of(code.co_filename, code.co_name)
    return kind


def _kind_of(file: str, name: str) -> int:
    if file.startswith(_OBSERVER):
        # The observer's reading methods, and others, stand between the program and torch's.
        return _LIBRARY if file.endswith("reads.py") or name.startswith("observed_") else _TOOLS
    if file.startswith(_OWN):
        return _LIBRARY
    if file.startswith(_TORCH):
        # What a default device is by stands between the program and the function that it calls.
        return _LIBRARY if file == _DEFAULT else _TORCHS
    if file.startswith("<") and (sys.argv[:1] != ["-c"] or file.startswith("<frozen")):
        # Code that was made from a text belongs to the line that calls it.
        return _LIBRARY
    installed = "site-packages" in file or "dist-packages" in file
    if file.startswith(_STANDARD) and not installed:
        return _LIBRARY
    return _LIBRARY if installed and f"{os.sep}numpy{os.sep}" in file else _PROGRAM


def place(outer: int = 2) -> Place:
    """The instruction of the program that is being executed, outside of torch and the standard library."""
    kind_of = _kinds.get
    # The functions before are the simulation's own.
    frame: FrameType | None = sys._getframe(outer)
    while frame is not None:
        code = frame.f_code
        kind = kind_of(id(code))
        if kind is None:
            kind = _kind(code)
        if kind == _PROGRAM:
            return (id(code), frame.f_lasti)
        if kind == _TOOLS:
            return NOWHERE
        frame = frame.f_back
    return NOWHERE


def _place_and_call() -> tuple[Place, str] | None:
    """The same, with the function of torch that is called there; None for what golden itself does."""
    frame: FrameType | None = sys._getframe(1)
    called = ""
    while frame is not None:
        kind = _kind(frame.f_code)
        if kind == _PROGRAM:
            return (id(frame.f_code), frame.f_lasti), called
        if kind == _TOOLS:
            return None
        if frame.f_code.co_filename.startswith(_OWN):
            # What of torch is between the simulation's own functions, the program did not call.
            called = ""
        if kind == _TORCHS:
            name = frame.f_code.co_qualname
            if "<locals>" not in name or not called:
                called = f"{frame.f_globals.get('__name__', '')}.{name}"
        frame = frame.f_back
    return NOWHERE, called


def located(where: Place) -> tuple[str, int, str]:
    """File, line and function of a place; a comprehension belongs to its function, as in Python 3.12."""
    code = _codes.get(where[0])
    if code is None:
        return "", 0, ""
    line = next((n for start, end, n in code.co_lines() if start <= where[1] < end and n), 0)
    return _shown(Path(code.co_filename)), line, _function(code)


def _function(code: CodeType) -> str:
    return _COMPREHENSION.sub("", code.co_qualname).replace(".<locals>", "") or "<module>"


def title(where: Place) -> str:
    """A place as text: ``train.py:12``."""
    file, line, _ = located(where)
    return f"{file}:{line}" if file else "outside of the program"


def _shown(path: Path) -> str:
    if not path.is_absolute():
        return path.as_posix()
    for folder in (_HERE, *sorted(map(Path, filter(None, sys.path)), key=lambda p: -len(p.parts))):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def ran() -> list[dict[str, str]]:
    """The functions of the program that computed on a device, with their files."""
    codes = [code for key, code in _codes.items() if _kinds[key] == _PROGRAM]
    found = {(_shown(Path(code.co_filename)), _function(code)) for code in codes}
    return [{"file": file, "function": function} for file, function in sorted(found)]


class Syncs:
    """The syncs of the process: how many at each place, by kind and by the function of torch called there."""

    def __init__(self) -> None:
        # How many, in how many windows between optimizer steps, and the last of those.
        self.counts: dict[tuple[Place, str, str], list[int]] = {}
        # A step is one of every optimizer in turn: of a generator and its critic, of the nets of all envs.
        self.steps = 0
        self._stepped: set[int] = set()
        self.muted = 0

    def note(self, kind: str, times: int = 1) -> None:
        """Count syncs at the line of the program that is being executed."""
        if not times or self.muted:
            return
        found = _place_and_call()
        if found is None:
            return
        kept = self.counts.setdefault((found[0], kind, found[1]), [0, 0, -1])
        kept[0] += times
        if kept[2] != self.steps:
            kept[1] += 1
            kept[2] = self.steps

    def stepped(self, optimizer: Any, *_: Any) -> None:
        """Count a step of the program: it begins when an optimizer has its next turn."""
        if _place_and_call() is None:
            return
        if not self._stepped or id(optimizer) in self._stepped:
            self._stepped.clear()
            self.steps += 1
        self._stepped.add(id(optimizer))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give a row for each instruction of the program, kind and call."""
        for (where, kind, called), (count, windows, _) in self.counts.items():
            file, line, function = located(where)
            yield {
                "file": file,
                "line": line,
                "function": function,
                "kind": kind,
                "call": called,
                "text": linecache.getline(_codes[where[0]].co_filename, line).strip() if file else "",
                "count": count,
                "windows": windows,
            }


SYNCS = Syncs()
