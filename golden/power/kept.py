"""What was tried already, so that a command that was stopped goes on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import xxhash
from pydantic import ValidationError

from golden.power.mistakes import Mistake
from golden.power.result import Planted
from golden.trace.errors import UnusableInput


def state_of(root: Path, files: Sequence[str], runs: Sequence[str]) -> str:
    """A digest of the Python files of a tree, and of what is told of the runs."""
    digest = xxhash.xxh3_128()
    for name in files:
        if name.endswith(".py"):
            digest.update(f"{name}\0".encode())
            digest.update((root / name).read_bytes())
    for each in runs:
        digest.update(f"{each}\0".encode())
    return digest.hexdigest()[:16]


class Kept:
    """A file with a line for each mistake that was tried; of None nothing is kept."""

    def __init__(self, folder: Path | None, state: str) -> None:
        self._path = None if folder is None else folder / f"planted-{state}.jsonl"
        self._lock = threading.Lock()
        self._known: dict[tuple[str, tuple[str, ...]], Planted] = {}
        if self._path is None or not self._path.exists():
            return
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            # The last one may have been cut off.
            if not line.endswith("\n"):
                continue
            try:
                planted = Planted.model_validate_json(line)
            except ValidationError as error:
                why = str(error).splitlines()[0]
                raise UnusableInput(f"{self._path}:{number} is damaged: {why}; remove it") from None
            self._known[planted.name, planted.runs] = planted
        if lines and not lines[-1].endswith("\n"):
            self._path.write_text("".join(lines[:-1]), encoding="utf-8")

    def known(self, mistake: Mistake) -> Planted | None:
        """What came of a mistake when it was tried by the same runs."""
        return self._known.get((mistake.name, mistake.runs))

    def keep(self, planted: Planted) -> None:
        """Add one."""
        if self._path is None or not planted.judged:
            return
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(planted.model_dump_json() + "\n")
            except OSError as error:
                raise UnusableInput(f"can't write to {self._path}: {error.strerror}") from None
