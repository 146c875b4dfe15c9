"""What a run printed and wrote, gathered when it has ended."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from golden.outputs import Masks, read_outputs
from golden.record.run import Run
from golden.trace.outputs import Output

_Stamp = tuple[int, int]


class Declared:
    """The files in a tree that a run file declares, as they are before the run begins."""

    def __init__(self, run: Run, root: Path) -> None:
        self._globs = run.outputs.files
        self._root = root
        self._before = dict(self._stamps())

    def written(self) -> Iterator[tuple[str, Path]]:
        """Those that were written since, under their names in the tree."""
        for path, stamp in self._stamps():
            if self._before.get(path) != stamp:
                yield path.relative_to(self._root).as_posix(), path

    def _stamps(self) -> Iterator[tuple[Path, _Stamp]]:
        for pattern in self._globs:
            for path in self._root.glob(pattern):
                with contextlib.suppress(OSError):
                    if path.is_file():
                        stat = path.stat()
                        yield path, (stat.st_mtime_ns, stat.st_size)


def gather(
    run: Run,
    *,
    root: Path,
    folder: Path,
    outputs: Path,
    declared: Declared,
    processes: int,
    seen: set[str],
) -> list[Output]:
    """Everything that the run printed and wrote, but for its events and what it says to leave out.

    Patterns of unstable fields that matched are added to ``seen``.
    """
    without = run.observe.without
    events = set(outputs.glob(run.events.files)) if run.events else set()
    files: list[tuple[str, Path]] = []
    links: list[tuple[str, Path]] = []
    if "files" not in without:
        own = [(path.relative_to(outputs).as_posix(), path) for path in outputs.rglob("*")]
        links = [(name, path) for name, path in own if path.is_symlink() and "wandb" not in path.parts]
        own = [(name, path) for name, path in own if path.is_file() and not path.is_symlink()]
        files = [(name, path) for name, path in own if path not in events]
        files += declared.written()
    kept = [(name, path) for name, path in files if not _ignored(name, run)]
    return read_outputs(
        None if "stdout" in without else folder / "stdout.txt",
        None if "stderr" in without else folder / "stderr.txt",
        kept,
        replace(masks(run, root=root, outputs=outputs), seen=seen),
        links=[(name, path) for name, path in links if not _ignored(name, run)],
        ordered=processes <= 1,
    )


def masks(run: Run, *, root: Path, outputs: Path) -> Masks:
    """What of the outputs of a run can't repeat."""
    places = {str(outputs): "{out}", str(root): "{root}"}
    # A tree is called the same wherever in it the command is given.
    if not Path.cwd().is_relative_to(root):
        places[str(Path.cwd())] = "{here}"
    home, host = str(Path.home()), socket.gethostname()
    places |= {home: "~"} if len(home) > 1 else {}
    places |= {host: "<host>"} if len(host) > 5 else {}
    unstable = (*run.outputs.unstable, *(run.events.unstable if run.events else ()))
    return Masks(places, unstable, [re.compile(pattern) for pattern in run.outputs.mask])


def _ignored(name: str, run: Run) -> bool:
    base = name.rpartition("/")[2]
    return any(fnmatchcase(name, p) or fnmatchcase(base, p) for p in run.outputs.ignore)
