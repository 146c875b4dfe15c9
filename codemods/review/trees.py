"""Both sides of a change: a commit, a folder or the working tree; which files differ, and what each holds."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codemods.facts.source import SourceError

_IGNORED = frozenset([".git", ".venv", "__pycache__", "node_modules"])


@dataclass(frozen=True, slots=True)
class Tree:
    """One side: every path it has with what identifies its content, and how to read one."""

    identities: Mapping[str, str]
    read: Callable[[str], bytes]
    modules: dict[str, str | None] = field(default_factory=dict)

    def module(self, dotted: str) -> str | None:
        """The file of a module; None where there is none, or more than one that could be it."""
        if dotted not in self.modules:
            self.modules[dotted] = self._module(dotted)
        return self.modules[dotted]

    def has_package(self, dotted: str) -> bool:
        """Is there a file or folder that a module of this name could be, or be in?"""
        first = dotted.partition(".")[0]
        return any(first in path.removesuffix(".py").split("/") for path in self.identities)

    def _module(self, dotted: str) -> str | None:
        stem = dotted.replace(".", "/")
        ends = (f"{stem}.py", f"{stem}/__init__.py")
        exact = [path for path in ends if path in self.identities]
        found = exact or [p for p in self.identities if p.endswith(tuple(f"/{end}" for end in ends))]
        return found[0] if len(found) == 1 else None


def differing(base: Tree, head: Tree) -> tuple[str, ...]:
    """Paths that are on one side only, or whose content differs."""
    paths = {*base.identities, *head.identities}
    return tuple(sorted(path for path in paths if base.identities.get(path) != head.identities.get(path)))


def tree_at(reference: str, root: Path) -> Tree:
    """A folder, if there is one of this name, else a commit of the repository that `root` is in.

    Raises:
        SourceError: if there is neither.
    """
    folder = Path(reference)
    return _folder(folder) if folder.is_dir() else _commit(reference, root)


def working_tree(root: Path) -> Tree:
    """What the repository's folder holds now: tracked files, and those that git does not ignore.

    Raises:
        SourceError: if the folder is in no repository.
    """
    top = Path(_git(root, "rev-parse", "--show-toplevel").decode().strip())
    staged = _entries(_git(top, "ls-files", "-z", "--stage"))
    others = _git(top, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    names = {*(os.fsdecode(name) for name in others if name), *(name for name, _, _ in staged)}
    regular = sorted(name for name in names if (top / name).is_file() and not (top / name).is_symlink())
    hashed = _git(top, "hash-object", "--stdin-paths", "--no-filters", given=os.fsencode("\n".join(regular)))
    paths = dict(zip(regular, hashed.decode().split(), strict=True))
    paths |= {name: f"submodule {blob}" for name, mode, blob in staged if mode == "160000"}
    links = (name for name in names if (top / name).is_symlink())
    paths |= {name: f"link {_hashed(os.fsencode((top / name).readlink()))}" for name in links}
    return Tree(paths, lambda path: (top / path).read_bytes())


def _entries(listed: bytes) -> list[tuple[str, str, str]]:
    """Path, mode and object of each line of the index."""
    found = []
    for entry in listed.split(b"\0"):
        meta, _, name = entry.partition(b"\t")
        if name:
            mode, blob, _ = meta.decode().split()
            found.append((os.fsdecode(name), mode, blob))
    return found


def _folder(folder: Path) -> Tree:
    paths: dict[str, str] = {}
    for where, below, files in os.walk(folder):
        below[:] = sorted(name for name in below if name not in _IGNORED)
        for name in sorted(files):
            path = Path(where, name)
            if path.is_file():
                paths[path.relative_to(folder).as_posix()] = _hashed(path.read_bytes())
    return Tree(paths, lambda path: (folder / path).read_bytes())


def _hashed(content: bytes) -> str:
    # As git names it, so that a folder can be compared with a commit.
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _commit(reference: str, root: Path) -> Tree:
    commit = _git(root, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}", what=reference)
    top = Path(_git(root, "rev-parse", "--show-toplevel").decode().strip())
    paths: dict[str, str] = {}
    for entry in _git(top, "ls-tree", "-r", "-z", "--full-tree", commit.decode().strip()).split(b"\0"):
        meta, _, name = entry.partition(b"\t")
        if name:
            mode, kind, blob = meta.decode().split()
            note = "submodule " if kind == "commit" else "link " if mode == "120000" else ""
            paths[os.fsdecode(name)] = note + blob
    return Tree(paths, _Objects(top, paths).read)


class _Objects:
    """Contents of a commit's files, all from one process."""

    def __init__(self, top: Path, paths: Mapping[str, str]) -> None:
        self._top, self._paths = top, paths
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, path: str) -> bytes:
        if self._process is None:
            self._process = subprocess.Popen(
                ["git", "cat-file", "--batch"], cwd=self._top, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        sink.write(self._paths[path].encode() + b"\n")
        sink.flush()
        size = int(source.readline().split()[2])
        return source.read(size + 1)[:size]

    def __del__(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process.wait()


def _git(folder: Path, *arguments: str, given: bytes | None = None, what: str = "") -> bytes:
    command: Sequence[str] = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=False)
    except FileNotFoundError:
        raise SourceError("git is not installed; give two folders, --base DIR --head DIR") from None
    if done.returncode:
        told = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"])[0]
        raise SourceError(f"{what}: no such commit or folder" if what else told)
    return done.stdout
