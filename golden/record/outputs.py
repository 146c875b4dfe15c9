"""Printed lines and written files of a run, gathered when it has ended."""

from __future__ import annotations

import difflib
import functools
import json
import re
import socket
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from itertools import chain, groupby
from pathlib import Path

from esper_harness.report.plain import listed
from golden.outputs import Masks, is_passing, read_outputs
from golden.record.run import EVERYTHING, Run
from golden.record.workspace import Stamp, stamps, walk
from golden.trace.errors import UnusableInput
from golden.trace.outputs import STREAMS, Output
from golden.trace.paths import Patterns, matching

# Of libraries, which fill them once.
_CACHES = frozenset({".cache", ".config", ".triton", "node_modules"})
_NO_STAMP = (0, 0)


class Produced:
    """The printed lines and written files of a run: made before it begins, asked when it has ended.

    ``outputs`` is its {out} folder. ``wrote`` are the files that it opened for writing, changed or not,
    ``anew`` those that lost what it wrote before, ``removed`` those that are gone.
    """

    def __init__(self, run: Run, root: Path, outputs: Path) -> None:
        self._run, self._root, self._outputs = run, root, outputs
        self._globs = run.outputs.files
        for pattern in (*self._globs, *([run.events.files] if run.events else ())):
            if Path(pattern).is_absolute():
                raise UnusableInput(
                    f"run {run.name}: {pattern} is absolute; [outputs] files are relative to the repository, "
                    "[events] files to {out}"
                )
        self._before = self._stamps()
        self.wrote = self.anew = self.removed = set[Path]()

    @functools.cached_property
    def _declared(self) -> list[tuple[str, Path]]:
        """The files in the tree that its run file declares and that it wrote, under their names."""
        now = self._stamps()
        if self._run.outputs.everything:
            inside = (path for path in self.wrote if path.is_relative_to(self._root))
            now |= {path: _NO_STAMP for path in inside if path not in now}
        found = [p for p, stamp in now.items() if self._before.get(p) != stamp or p in self.wrote]
        return [(path.relative_to(self._root).as_posix(), path) for path in found]

    def unmatched(self) -> dict[str, str]:
        """Return the patterns that match no written file, with the files that may have been meant."""
        written = {path for _, path in self._declared}
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

    def _stamps(self) -> dict[Path, Stamp]:
        everything = map(Path, walk(self._root))
        found = (everything if p == EVERYTHING else matching(self._root, p) for p in self._globs)
        return stamps(chain.from_iterable(found))

    def _events(self) -> set[Path]:
        return set(matching(self._outputs, self._run.events.files)) if self._run.events else set()

    def _ignored(self, name: str) -> bool:
        base = name.rpartition("/")[2]
        return any(fnmatchcase(name, p) or fnmatchcase(base, p) for p in self._run.outputs.ignore)

    def unwatched(self) -> list[str]:
        """Return files that the program wrote and nothing compares, each with what to do about it."""
        root = self._root
        compared = {path for _, path in self._declared}
        left = sorted(
            path
            for path in self.wrote - compared - self._events()
            if not path.is_relative_to(self._outputs)
            and not path.is_relative_to("/dev")
            and not is_passing(path)
            and not any(part in _CACHES or part.startswith("torchinductor_") for part in path.parts)
            and not self._ignored(
                path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
            )
        )
        inside = (path.relative_to(root) for path in left if path.is_relative_to(root))
        found = []
        for top, group in groupby(inside, key=lambda path: path.parts[0]):
            paths = list(group)
            name = paths[0].as_posix() if len(paths) == 1 else f"{top}/**"
            more = f" ({len(paths)} files)" if len(paths) > 1 else ""
            found.append(f"{name}{more}; to compare, add to [outputs]: files = [{json.dumps(name)}]")
        outside = [path for path in left if not path.is_relative_to(root)]
        if outside:
            found.append(f"{listed(outside, 3)}; to compare, let the program write to {{out}}")
        return found

    def _names(self, paths: Iterable[Path]) -> list[str]:
        """Return the names of files in the tree and in {out} that are results and not ignored."""
        masks, folders = self._masks(Patterns()), (self._root, self._outputs)
        given = (path for path in paths if not is_passing(path) and _CACHES.isdisjoint(path.parts))
        inside = ((path, folder) for path in given for folder in folders if path.is_relative_to(folder))
        names = {masks.path(path.relative_to(folder).as_posix()) for path, folder in inside}
        return sorted(name for name in names if not self._ignored(name))

    def lost(self) -> list[str]:
        """Name contents of files that were there for a while only: written anew, or removed again."""
        compared = {*(path for _, path in self._declared), *self._outputs.rglob("*")}
        anew, gone = self._names(self.anew & compared), self._names(self.removed - self._before.keys())
        found = {"earlier contents of": anew, "removed files:": gone}
        return [f"{what} {listed(names, 3)}" for what, names in found.items() if names]

    def read(
        self, folder: Path, unstable: Patterns, *, ordered: bool, copied: Callable[[Path], str | None]
    ) -> tuple[list[Output], list[str]]:
        """Read what it printed, to ``folder``, and wrote, but for its events, as `read_outputs` does."""
        events = self._events()
        own = [(path.relative_to(self._outputs).as_posix(), path) for path in self._outputs.rglob("*")]
        links = [(name, path) for name, path in own if path.is_symlink() and "wandb" not in path.parts]
        own = [(name, path) for name, path in own if path.is_file() and not path.is_symlink()]
        files = [(name, path) for name, path in own if path not in events]
        files += self._declared
        streams = {name: folder / f"{name}.txt" for name in STREAMS}
        masks = self._masks(unstable)
        found, masked = read_outputs(
            streams, files, links, masks, ignored=self._ignored, ordered=ordered, copied=copied
        )
        # What was there before it and is declared.
        gone = self._names(path for path in self._before if not path.exists())
        return [*found, *(Output("removed", name, ({"removed": True},)) for name in gone)], masked

    def _masks(self, unstable: Patterns) -> Masks:
        places = {str(self._outputs): "{out}", str(self._root): "{root}"}
        # A tree is called the same wherever in it the command is given.
        if not Path.cwd().is_relative_to(self._root):
            places[str(Path.cwd())] = "{here}"
        home, host = str(Path.home()), socket.gethostname()
        places |= {home: "~"} if len(home) > 1 else {}
        places |= {host: "<host>"} if len(host) > 5 else {}
        return Masks(places, unstable, [re.compile(pattern) for pattern in self._run.outputs.mask])
