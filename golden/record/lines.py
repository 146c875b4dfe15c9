"""Every line of the program that runs before one optimizer step, with the values that it changes.

Slow, and only used to locate a divergence that is known already.
"""

from __future__ import annotations

import json
import linecache
import sys
import threading
import weakref
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..trace.digest import described

_LINES_AT_MOST = 50_000
_ITEMS_AT_MOST = 40
_LONGEST = 200
_ELEMENTS_AT_MOST = 1 << 20
_OWN = str(Path(__file__).resolve().parent.parent)
_PLAIN = (int, float, str, bool, bytes, type(None))


class LineLog:
    """Writes one record per executed line of files below the current folder from its start to its end."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        self._here = str(Path.cwd())
        self._left = _LINES_AT_MOST
        # By frame: the line that runs, and the values before it.
        self._running: dict[FrameType, tuple[int, dict[str, str]]] = {}
        self._own: dict[str, bool] = {}
        self._words = _Words()

    def start(self) -> None:
        """Begin in the frames that run, and in all that are entered from now on."""
        frame: FrameType | None = sys._getframe(1)
        frames = []
        while frame is not None:
            frames += [frame] if self._is_own(frame) else []
            frame = frame.f_back
        for frame in reversed(frames):
            frame.f_trace = self._local
            self._enter(frame)
        threading.settrace(self._global)
        sys.settrace(self._global)

    def close(self) -> None:
        """End the log."""
        sys.settrace(None)
        threading.settrace(None)
        self._left = 0
        self._running.clear()
        self._file.close()

    def _is_own(self, frame: FrameType) -> bool:
        name = frame.f_code.co_filename
        known = self._own.get(name)
        if known is None:
            path = Path(name)
            parts = path.parts
            installed = "site-packages" in parts or any(part.startswith(".venv") for part in parts)
            known = name.startswith(self._here) and not name.startswith(_OWN) and not installed
            self._own[name] = known
        return known

    def _global(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event != "call" or not self._is_own(frame):
            return None
        self._enter(frame)
        return self._local

    def _enter(self, frame: FrameType) -> None:
        """Write what is set before the first line of a frame, of no line."""
        before = self._words.values(frame)
        self._running[frame] = (frame.f_lineno, before)
        if self._left:
            self._write(frame, 0, before)

    def _local(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event not in ("line", "return") or not self._left:
            return self._local
        line, before = self._running.get(frame, (frame.f_lineno, {}))
        now = self._words.values(frame)
        changed = {name: text for name, text in now.items() if before.get(name) != text}
        if event == "return":
            # Where a function ends without a result, or a file, lies elsewhere in another version.
            changed |= {"(returned)": self._words.text(argument, 2)} if argument is not None else {}
            self._running.pop(frame, None)
        else:
            self._running[frame] = (frame.f_lineno, now)
        self._write(frame, line, changed)
        return self._local

    def _write(self, frame: FrameType, line: int, changed: dict[str, str]) -> None:
        self._left -= 1
        code = frame.f_code
        record = {
            "file": str(Path(code.co_filename).relative_to(self._here)),
            "number": line,
            "function": code.co_name,
            "text": linecache.getline(code.co_filename, line).strip(),
            "values": changed,
        }
        self._file.write(json.dumps(record) + "\n")


class _Words:
    """Values in words, so that two runs can be compared; a tensor is its form and a digest."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[weakref.ref[torch.Tensor], str]] = {}

    def values(self, frame: FrameType) -> dict[str, str]:
        """Return the values that a frame sees, by name: plain values and tensors, also of its objects.

        Attributes of ``self`` go by their own names, as the variables that they may be in another version.
        """
        pairs = [(name, value) for name, value in list(frame.f_locals.items()) if not name.startswith("__")]
        inside = getattr(dict(pairs).get("self"), "__dict__", None)
        if type(inside) is dict and len(inside) <= _ITEMS_AT_MOST:
            pairs = [*inside.items(), *(pair for pair in pairs if pair[0] != "self")]
        return {name: text for name, value in pairs if (text := self.text(value, 2))}

    def text(self, value: Any, depth: int) -> str:
        """Return one value; empty for one that holds nothing of the kind."""
        kind = type(value)
        if kind in _PLAIN:
            return repr(value)[:_LONGEST]
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if depth == 0:
            return ""
        if kind in (list, tuple) and len(value) <= _ITEMS_AT_MOST:
            return f"[{', '.join(self.text(item, depth - 1) for item in value)}]"
        if kind is dict and len(value) <= _ITEMS_AT_MOST:
            return self._pairs(value.items(), depth)
        if kind.__module__.partition(".")[0] in ("torch", "numpy", "builtins"):
            return ""
        inside = getattr(value, "__dict__", None)
        if type(inside) is dict and len(inside) <= _ITEMS_AT_MOST:
            return self._pairs(inside.items(), depth)
        return ""

    def _pairs(self, items: Any, depth: int) -> str:
        shown = [(str(key), self.text(item, depth - 1)) for key, item in list(items)]
        return "{" + ", ".join(f"{key}: {text}" for key, text in shown if text) + "}"

    def _tensor(self, value: torch.Tensor) -> str:
        if value.numel() > _ELEMENTS_AT_MOST or value.device.type == "meta":
            return ""
        key = (id(value), 0 if value.is_inference() else value._version)
        reference, text = self._known.get(key, (None, ""))
        if reference is not None and reference() is value:
            return text
        with torch._C._DisableTorchDispatch(), torch.no_grad(), torch._C.DisableTorchFunction():
            text = described(value)
        self._known[key] = (weakref.ref(value), text)
        return text
