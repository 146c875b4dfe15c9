"""Copies of a tree for mutants to run in; nobody's own files are touched."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from golden.record.git import share
from golden.record.workspace import copy_files, files_below
from golden.trace.errors import UnusableInput


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The ``files`` of a tree as they were when the command began; each program runs in a copy of them."""

    root: Path
    files: Sequence[str]

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        """Give a tree of the same files, gone at the end with all that a program left in it."""
        with tempfile.TemporaryDirectory(dir=self.root.parent, ignore_cleanup_errors=True) as folder:
            tree = Path(folder) / "tree"
            shutil.copytree(self.root, tree, symlinks=True)
            yield tree


@contextlib.contextmanager
def snapshot(root: Path, shared: Sequence[str] = ()) -> Iterator[Snapshot]:
    """Copy a tree to a scratch folder, gone at the end. Raises `UnusableInput`.

    ``shared`` are folders of data that git does not keep, which are linked.
    """
    with tempfile.TemporaryDirectory(prefix="golden-mutate-", ignore_cleanup_errors=True) as scratch:
        found = Snapshot(Path(scratch).resolve() / "snapshot", files_below(root.resolve()))
        if not found.files:
            raise UnusableInput(f"no files in {root}")
        try:
            copy_files(found.files, root, found.root)
            share(shared, root.resolve(), found.root)
        except OSError as error:
            raise UnusableInput(f"can't copy {root}: {error}") from None
        yield found
