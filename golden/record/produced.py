"""Printed lines and written files of a run, gathered when it has ended."""

from __future__ import annotations

import contextlib
import difflib
import json
import re
import socket
from collections.abc import Iterator, Set
from fnmatch import fnmatchcase
from pathlib import Path

from esper_harness.report.plain import listed
from golden.outputs import Masks, is_passing, read_outputs
from golden.record.run import EVERYTHING, Run
from golden.record.workspace import walk
from golden.trace.errors import UnusableInput
from golden.trace.outputs import Output
from golden.trace.paths import Patterns, matching

_Stamp = tuple[int, int]
# Of libraries, which fill them once.
_CACHES = frozenset({".cache", ".config", ".triton", "node_modules"})
_NO_STAMP = (0, 0)
_IGNORED_SHOWN = 3


class Declared:
    """The files in a tree that a run file declares, as they are before the run begins."""

    def __init__(self, run: Run, root: Path) -> None:
        self._globs = run.outputs.files
        self._root = root
        for pattern in (*self._globs, *([run.events.files] if run.events else ())):
            if Path(pattern).is_absolute():
                raise UnusableInput(
                    f"run {run.name}: {pattern} is absolute; [outputs] files are relative to the repository, "
                    "[events] files to {out}"
                )
        self._everything = run.outputs.everything
        self._before = dict(self._stamps())
        # What the program is known to have written, whether that changed a file or not.
        self.wrote: Set[Path] = frozenset()

    def written(self) -> Iterator[tuple[str, Path]]:
        """Yield those that were written since, under their names in the tree."""
        stamps = dict(self._stamps())
        if self._everything:
            inside = (path for path in self.wrote if path.is_relative_to(self._root))
            stamps |= {path: _NO_STAMP for path in inside if path not in stamps}
        for path, stamp in stamps.items():
            if self._before.get(path) != stamp or path in self.wrote:
                yield path.relative_to(self._root).as_posix(), path

    def unmatched(self) -> dict[str, str]:
        """Return the patterns that match no written file, with the files that may have been meant."""
        written = {path for _, path in self.written()}
        inside = [path.relative_to(self._root) for path in self.wrote if path.is_relative_to(self._root)]
        below = sorted(path.as_posix() for path in inside)
        found = {}
        for pattern in self._globs:
            if pattern == EVERYTHING:
                continue
            there = set(matching(self._root, pattern))
            if there.isdisjoint(written):
                near = difflib.get_close_matches(pattern, below, n=3, cutoff=0.0)
                found[pattern] = f"it wrote {', '.join(near)}" if near else "it wrote no file in the tree"
        return found

    def _stamps(self) -> Iterator[tuple[Path, _Stamp]]:
        for pattern in self._globs:
            found = walk(self._root) if pattern == EVERYTHING else matching(self._root, pattern)
            for path in found:
                with contextlib.suppress(OSError):
                    stat = path.stat()
                    yield path, (stat.st_mtime_ns, stat.st_size)


def unwatched(run: Run, *, root: Path, outputs: Path, declared: Declared) -> list[str]:
    """Return files that the program wrote and nothing compares, each with what to do about it."""
    compared = {path for _, path in declared.written()}
    events = set(matching(outputs, run.events.files)) if run.events else set()
    left = sorted(
        path
        for path in declared.wrote - compared - events
        if not path.is_relative_to(outputs)
        and not path.is_relative_to("/dev")
        and not is_passing(path)
        and not any(part in _CACHES or part.startswith("torchinductor_") for part in path.parts)
        and not _ignored(path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path), run)
    )
    inside: dict[str, list[Path]] = {}
    for path in left:
        if path.is_relative_to(root):
            inside.setdefault(path.relative_to(root).parts[0], []).append(path.relative_to(root))
    found = []
    for top, paths in inside.items():
        name = paths[0].as_posix() if len(paths) == 1 else f"{top}/**"
        more = f" ({len(paths)} files)" if len(paths) > 1 else ""
        found.append(f"{name}{more}; to compare, add to [outputs]: files = [{json.dumps(name)}]")
    outside = sorted({path for path in left if not path.is_relative_to(root)})
    if outside:
        found.append(f"{listed(outside, 3)}; to compare, let the program write to {{out}}")
    return found


def gather(
    run: Run,
    *,
    root: Path,
    folder: Path,
    outputs: Path,
    declared: Declared,
    processes: int,
    unstable: Patterns,
    left_out: list[str],
) -> list[Output]:
    """Return everything that the run printed and wrote, but for its events and what it says to leave out.

    Words for what was masked are added to ``left_out``.
    """
    events = set(matching(outputs, run.events.files)) if run.events else set()
    own = [(path.relative_to(outputs).as_posix(), path) for path in outputs.rglob("*")]
    links = [(name, path) for name, path in own if path.is_symlink() and "wandb" not in path.parts]
    own = [(name, path) for name, path in own if path.is_file() and not path.is_symlink()]
    files = [(name, path) for name, path in own if path not in events]
    files += declared.written()
    streams = {name: folder / f"{name}.txt" for name in ("stdout", "stderr") if not _ignored(name, run)}
    left_out += [f"{name} ([outputs] ignore)" for name in ("stdout", "stderr") if name not in streams]
    kept = [(name, path) for name, path in files if not _ignored(name, run)]
    ignored = [name for name, path in files if _ignored(name, run) and not is_passing(path)]
    left_out += [f"file {name} ([outputs] ignore)" for name in ignored[:_IGNORED_SHOWN]]
    if ignored[_IGNORED_SHOWN:]:
        left_out.append(f"{len(ignored) - _IGNORED_SHOWN} more files ([outputs] ignore)")
    return read_outputs(
        streams,
        kept,
        masks(run, unstable, root=root, outputs=outputs),
        links=[(name, path) for name, path in links if not _ignored(name, run)],
        ordered=processes <= 1,
        left_out=left_out,
    )


def masks(run: Run, unstable: Patterns, *, root: Path, outputs: Path) -> Masks:
    """Return the masks for the outputs of a run."""
    places = {str(outputs): "{out}", str(root): "{root}"}
    # A tree is called the same wherever in it the command is given.
    if not Path.cwd().is_relative_to(root):
        places[str(Path.cwd())] = "{here}"
    home, host = str(Path.home()), socket.gethostname()
    places |= {home: "~"} if len(home) > 1 else {}
    places |= {host: "<host>"} if len(host) > 5 else {}
    return Masks(places, unstable, [re.compile(pattern) for pattern in run.outputs.mask])


def _ignored(name: str, run: Run) -> bool:
    base = name.rpartition("/")[2]
    return any(fnmatchcase(name, p) or fnmatchcase(base, p) for p in run.outputs.ignore)
