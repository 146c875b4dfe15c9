"""What one process of a run notes: which lines of some files ran, and by what means that is known."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from .flags import Lines


class Notes:
    """What ran, and by what means it is known; written at once, since a process may end by a signal."""

    def __init__(self, folder: Path, files: Sequence[str], rooms: Sequence[int]) -> None:
        self.lines = Lines(folder, rooms)
        self._numbers = {os.path.realpath(path): number for number, path in enumerate(files)}
        self._here = Path.cwd()
        self._folders: dict[str, str] = {}
        self._known: dict[str, int | None] = {}
        self._file: tuple[int, int] | None = None

    def number(self, path: str) -> int | None:
        """Which of the files a path of a code object names."""
        if path not in self._known:
            self._known[path] = self._numbers.get(self._real(path))
        return self._known[path]

    def _real(self, path: str) -> str:
        """As `os.path.realpath` has it, which asks for every folder above: here each folder once."""
        # Each file that a process loads comes here, where pathlib would take most of the time.
        folder, _, name = (path if path.startswith("/") else f"{self._here}/{path}").rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = self._real(folder) if folder else ""
        whole = f"{self._folders[folder]}/{name}"
        if name in ("", ".", "..") or os.path.islink(whole):  # noqa: PTH114 - see above
            return os.path.realpath(whole)
        return whole

    def say(self, number: int, line: int) -> None:
        """Note that a line ran."""
        try:
            self.lines.note(number, line)
        except IndexError:
            # The program wrote the file itself.
            self._write(f"{number}:{line}")

    def core(self, name: str) -> None:
        """Note by what means."""
        self._write(f"core {name}")

    def traced(self) -> None:
        """Note that what runs is known at the end of this process only."""
        self._write("traced")

    def saved(self) -> None:
        """Note that this was its end."""
        self._write("saved")

    def _write(self, text: str) -> None:
        """Add a line to what is known of this process."""
        pid = os.getpid()
        if self._file is None or self._file[0] != pid:
            self.lines.folder.mkdir(parents=True, exist_ok=True)
            # Processes of two machines may have one number.
            path = self.lines.folder / f"process-{platform.node()}-{pid}.txt"
            self._file = pid, os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.write(self._file[1], f"{text}\n".encode())
