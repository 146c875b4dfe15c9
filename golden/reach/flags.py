"""A byte for each line of some files, shared by all processes of a run on one machine."""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

# Set in every process that notes lines, so that code which another one pickled finds it.
_here: list[Lines] = []


class Flags(mmap.mmap):
    """What ran, by place. A copy of it is the one of the process that reads it, or nobody's."""

    def __reduce__(self) -> tuple[object, ...]:
        # A process that knows nothing of this can read it, too; one of another run has its own lines.
        here, nobody = f"__import__('sys').modules.get({__name__!r})", f"bytearray({len(self)})"
        folder = str(_here[0].folder) if _here else ""
        return eval, (f"(lambda here: here and here.own({folder!r}) or {nobody})({here})",)


class Lines:
    """Where each line of some files, which have ``sizes``, is noted in ``folder``."""

    def __init__(self, folder: Path, sizes: Sequence[int]) -> None:
        self.folder, self._sizes = folder, sizes
        self._starts = [0, *itertools.accumulate(sizes)]
        self._flags: Flags | None = None
        _here[:] = [self]

    @property
    def flags(self) -> Flags:
        """All of them; the file is made when it is first asked for."""
        if self._flags is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            # What two machines write to one page of a file that they share is not put together.
            path = self.folder / f"lines-{os.uname().nodename}.bin"
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            try:
                os.ftruncate(descriptor, self._starts[-1])
                self._flags = Flags(descriptor, self._starts[-1])
            finally:
                os.close(descriptor)
        return self._flags

    def place(self, number: int, line: int) -> int:
        """Of a line of a file its place in `flags`. Raises `IndexError` if the file did not have it."""
        if line >= self._sizes[number]:
            raise IndexError(line)
        return self._starts[number] + line

    def note(self, number: int, line: int) -> None:
        """Say that a line ran."""
        self.flags[self.place(number, line)] = 1


def own(folder: str) -> Flags | None:
    """Those of this process, if it is one of the run that notes in a folder."""
    return next((here.flags for here in _here if str(here.folder) == folder), None)
