"""Ends a run at its first optimizer step that is another one than before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from golden.trace.kinds import KINDS
from golden.trace.trace import Trace

# What a comparison never forgives; counts of reads and random states are left to it.
_COMPARED = (*KINDS, "losses")


class Watcher:
    """Follows the record of a run while it grows, beside that of the unchanged program."""

    def __init__(self, reference: Trace) -> None:
        [process] = reference.processes
        text = (process.folder / "steps.jsonl").read_text(encoding="utf-8")
        self._known = [_compared(line) for line in text.splitlines() if line.startswith('{"step":')]
        self._read: dict[Path, tuple[int, int]] = {}
        self.different: str | None = None

    def __call__(self, folder: Path) -> bool:
        """Tell whether a step differs by now."""
        paths = [path for path in folder.glob("process-*/steps.jsonl") if path.stat().st_size]
        # Which of several processes is which, is told at their end.
        if len(paths) == 1:
            self._follow(paths[0])
        return self.different is not None

    def _follow(self, path: Path) -> None:
        offset, step = self._read.get(path, (0, 0))
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                if not line.startswith(b'{"step":'):
                    continue
                if step >= len(self._known):
                    self.different = f"optimizer step {step} is extra"
                elif _compared(line.decode()) != self._known[step]:
                    self.different = f"differs at optimizer step {step}"
                if self.different:
                    return
                step += 1
        self._read[path] = offset, step


def can_watch(reference: Trace) -> bool:
    """Tell whether the first step that differs decides: one process, no tolerance."""
    return len(reference.processes) == 1 and not reference.about.tolerances


def _compared(line: str) -> list[Any]:
    record = json.loads(line)
    return [record.get(key) for key in _COMPARED]
