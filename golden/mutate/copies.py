"""Copies of a tree for mutants to run in; nobody's own files are touched."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from golden.record.git import files_of, share
from golden.record.workspace import walk
from golden.trace.errors import UnusableInput

_CACHE = "__pycache__"


def _files_below(root: Path) -> list[str]:
    """Return the files of a tree that git keeps or would keep; without git those of `walk`."""
    kept = files_of(root)
    if kept is not None:
        return [name for name in kept if _CACHE not in name]
    return sorted(str(path.relative_to(root)) for path in walk(root))


class Snapshot:
    """The ``files`` of a tree as they were when the command began; each program runs in a copy of them."""

    def __init__(self, root: Path, scratch: Path, shared: Sequence[str]) -> None:
        self.files = _files_below(root)
        self.root = scratch / "snapshot"
        self._scratch = scratch
        if not self.files:
            raise UnusableInput(f"no files in {root}")
        for name in self.files:
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target, follow_symlinks=False)
        share(shared, root, self.root)

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        """Give a tree of the same files, gone at the end with all that a program left in it."""
        with tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True) as folder:
            tree = Path(folder) / "tree"
            shutil.copytree(self.root, tree, symlinks=True)
            yield tree


@contextlib.contextmanager
def snapshot(root: Path, shared: Sequence[str] = ()) -> Iterator[Snapshot]:
    """Copy a tree to a scratch folder, gone at the end. Raises `UnusableInput`.

    ``shared`` are folders of data that git does not keep, which are linked.
    """
    with tempfile.TemporaryDirectory(prefix="golden-mutate-", ignore_cleanup_errors=True) as scratch:
        try:
            found = Snapshot(root.resolve(), Path(scratch).resolve(), shared)
        except OSError as error:
            raise UnusableInput(f"can't copy {root}: {error}") from None
        yield found
