"""Which source a run finds in its tree, so that an edit meanwhile is noticed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from pathlib import Path

import xxhash

from golden.record.git import files_of
from golden.trace.errors import UnusableInput

_PYTHON = ".py"
_Stamps = dict[Path, tuple[int, int]]


class Tree:
    """The files of a tree that git keeps, and its Python files, as they are before a run."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = _stamps(root)

    def check(self, run: str, written: Set[Path]) -> str:
        """A digest of the tree; `UnusableInput` if a file changed that the program did not write itself."""
        now = _stamps(self._root)
        changed = [
            path
            for path in sorted(self._before.keys() | now.keys())
            if self._before.get(path) != now.get(path) and path not in written
        ]
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            raise UnusableInput(
                f"run {run}: {changed[0].relative_to(self._root)}{more} changed while it ran; run the "
                "command again, and edit when it has ended"
            )
        kept = [
            (str(path.relative_to(self._root)), stamp)
            for path, stamp in sorted(now.items())
            if path not in written
        ]
        return xxhash.xxh3_64_hexdigest(repr(kept).encode())


def _stamps(root: Path) -> _Stamps:
    found: _Stamps = {}
    for path in {*(root / name for name in files_of(root, untracked=False) or ()), *_python(root)}:
        try:
            stat = path.stat()
        except OSError:
            continue
        found[path] = stat.st_mtime_ns, stat.st_size
    return found


def _python(root: Path) -> Iterator[Path]:
    """Python files, but for those of environments and hidden folders."""
    for folder, below, names in os.walk(root):
        if "pyvenv.cfg" in names:
            below.clear()
            continue
        below[:] = [
            name for name in below if not name.startswith(".") and name not in ("__pycache__", "node_modules")
        ]
        yield from (Path(folder) / name for name in names if name.endswith(_PYTHON))
