"""Numbers of lines in the event files of a program: the order of events and steps."""

from __future__ import annotations

import os
from pathlib import Path

from ..trace.paths import matching

_MAGIC = frozenset("*?[")


class EventLines:
    """Counts complete lines of files below a folder; what the program still buffers comes later."""

    def __init__(self, folder: Path, glob: str) -> None:
        self._folder, self._glob = folder, glob
        self._fixed = not _MAGIC.intersection(glob)
        # Of each file, how far it was read, and its lines up to there.
        self._known: dict[str, tuple[int, int]] = {}

    def counts(self) -> dict[str, int]:
        """Return lines by file, as a path relative to the folder; a file that isn't there yet has none."""
        return {name: count for name in self._names() if (count := self._count(name))}

    def _names(self) -> list[str]:
        if self._fixed:
            return [self._glob]
        return [str(path.relative_to(self._folder)) for path in matching(self._folder, self._glob)]

    def _count(self, name: str) -> int:
        path = self._folder / name
        try:
            size = os.stat(path).st_size  # noqa: PTH116 - quicker, and this runs at every step
            read, lines = self._known.get(name, (0, 0))
            if size < read:
                read = lines = 0
            if size != read:
                with path.open("rb") as file:
                    file.seek(read)
                    fresh = file.read()
                end = fresh.rfind(b"\n") + 1
                lines += sum(1 for line in fresh[:end].split(b"\n") if line.strip())
                self._known[name] = read + end, lines
        except OSError:
            return 0
        return lines
