"""Both sides of a change: a commit, a folder or the working tree; which files differ, and what each holds."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from codemods.program.git import Git, Objects
from codemods.program.source import SourceError

_WITHOUT_GIT = "give two folders, --base DIR --head DIR"
_IGNORED = frozenset([".git", ".venv", "__pycache__", "node_modules"])


@dataclass(frozen=True)
class Tree:
    """One side: every path it has with what identifies its content, and how to read one."""

    identities: Mapping[str, str]
    read: Callable[[str], bytes]
    modules: dict[str, str | None] = field(default_factory=dict)

    @cached_property
    def _ends(self) -> dict[str, list[str]]:
        """Python files by the ends of their paths, below any folder."""
        found: dict[str, list[str]] = {}
        for path in self.identities:
            if path.endswith(".py"):
                at = path.find("/")
                while at >= 0:
                    found.setdefault(path[at + 1 :], []).append(path)
                    at = path.find("/", at + 1)
        return found

    @cached_property
    def _words(self) -> frozenset[str]:
        """Names of files and folders."""
        return frozenset(word for path in self.identities for word in path.removesuffix(".py").split("/"))

    def module(self, dotted: str) -> str | None:
        """The file of a module; None where there is none, or more than one that could be it."""
        if dotted not in self.modules:
            self.modules[dotted] = self._module(dotted)
        return self.modules[dotted]

    def has_package(self, dotted: str) -> bool:
        """Is there a file or folder that a module of this name could be, or be in?"""
        first = dotted.partition(".")[0]
        return first in self._words and (first not in sys.stdlib_module_names or self._hides(first))

    def _hides(self, name: str) -> bool:
        """May a file be loaded in place of a module of the standard library? In a package there is none."""
        if name not in self._hiding:
            self._hiding[name] = bool(self._candidates(name))
        return self._hiding[name]

    @cached_property
    def _hiding(self) -> dict[str, bool]:
        return {}

    def module_at(self, path: str) -> bool:
        """Is there a module, or a folder, of this path without its ending?"""
        return f"{path}.py" in self.identities or path in self._folders

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(parent for path in self.identities for parent in _above(path))

    @cached_property
    def ambiguous(self) -> frozenset[str]:
        """Names that several files have."""
        return frozenset(
            end.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
            for end, paths in self._ends.items()
            if len(paths) > 1
        )

    def has(self, path: str) -> bool:
        """Is there a file or folder of this name?"""
        return path in self.identities or any(name.startswith(f"{path}/") for name in self.identities)

    def _module(self, dotted: str) -> str | None:
        if not dotted:
            return "__init__.py" if "__init__.py" in self.identities else None
        found = self._candidates(dotted)
        return found[0] if len(found) == 1 else None

    def _candidates(self, dotted: str) -> list[str]:
        stem = dotted.replace(".", "/")
        ends = (f"{stem}.py", f"{stem}/__init__.py")
        exact = [path for path in ends if path in self.identities]
        found = exact or [path for end in ends for path in self._ends.get(end, ())]
        if not exact and dotted.partition(".")[0] in sys.stdlib_module_names:
            # Inside a package no file stands before the standard library's module of its name.
            found = [path for path in found if not self._in_package(path, dotted)]
        return found

    def is_inside_a_package(self, dotted: str) -> bool:
        """Is a module found only if modules are looked for in the folder of a package, below the tree's?"""
        path = self.module(dotted)
        exact = path is not None and path.startswith(dotted.replace(".", "/"))
        return path is not None and not exact and self._in_package(path, dotted)

    def _in_package(self, path: str, dotted: str) -> bool:
        """Is the folder from which a file would be imported under a name a package?"""
        whole = path.removesuffix(".py").removesuffix("/__init__")
        return f"{whole.removesuffix(dotted.replace('.', '/'))}__init__.py" in self.identities


def _above(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def below(package: str, name: str) -> str:
    """The dotted name of something in a package; the root's is empty."""
    return f"{package}.{name}" if package else name


def around(dotted: str) -> list[str]:
    """A module, and the packages that it is in, the outermost first."""
    parts = dotted.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def packages_of(path: str) -> frozenset[str]:
    """The files of the packages that one is in, which are loaded before it."""
    folders = (parent.as_posix() for parent in PurePosixPath(path).parents)
    return frozenset(f"{folder}/__init__.py".removeprefix("./") for folder in folders)


def differing(base: Tree, head: Tree) -> tuple[str, ...]:
    """Paths that are on one side only, or whose content differs."""
    paths = {*base.identities, *head.identities}
    return tuple(sorted(path for path in paths if base.identities.get(path) != head.identities.get(path)))


def spellings(path: str) -> list[str]:
    """How a tree may spell a path that is given as the terminal's folder sees it."""
    parts = Path(path).absolute().parts
    return [os.path.normpath(path), *("/".join(parts[at:]) for at in range(1, len(parts)))]


def narrowed(paths: Sequence[str], *trees: Tree) -> list[str]:
    """Files and folders as trees spell them, which may be given as the terminal's folder sees them.

    Raises:
        SourceError: for one that no tree has.
    """
    found = []
    for path in paths:
        known = (name for name in spellings(path) if name == "." or any(tree.has(name) for tree in trees))
        if (name := next(known, None)) is None:
            raise SourceError(f"{path}: neither side has such a file or folder")
        found.append(name)
    return found


def tree_at(reference: str, root: Path) -> Tree:
    """A folder, if there is one of this name, else a commit of the repository that `root` is in.

    Raises:
        SourceError: if there is neither.
    """
    folder = Path(reference)
    return _folder(folder) if folder.is_dir() else _commit(reference, root)


def working_tree(root: Path) -> Tree:
    """The repository's folder as it is now: tracked files, and those that git does not ignore.

    Raises:
        SourceError: if the folder is in no repository.
    """
    git = Git(root, _WITHOUT_GIT)
    if git.run("rev-parse", "--is-inside-work-tree").strip() == b"false":
        raise SourceError(f"{root.resolve()}: there is no working tree here; give the side after, --head REF")
    git = git.top()
    top, staged = git.folder, git.index()
    others = git.run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    names = {*(os.fsdecode(name) for name in others if name), *(entry.path for entry in staged)}
    regular = sorted(name for name in names if (top / name).is_file() and not (top / name).is_symlink())
    hashed = git.run("hash-object", "--stdin-paths", "--no-filters", given=os.fsencode("\n".join(regular)))
    paths = dict(zip(regular, hashed.decode().split(), strict=True))
    paths |= {entry.path: f"submodule {entry.blob}" for entry in staged if entry.kind == "submodule"}
    links = (name for name in names if (top / name).is_symlink())
    paths |= {name: _link(top / name) for name in links}
    return Tree(paths, lambda path: _read(top / path))


def _folder(folder: Path) -> Tree:
    paths: dict[str, str] = {}
    for where, below, files in os.walk(folder):
        linked = [name for name in below if Path(where, name).is_symlink()]
        below[:] = sorted(name for name in below if name not in _IGNORED)
        here = Path(where)
        above = here.relative_to(folder).as_posix()
        for name in sorted((*files, *linked)):
            paths[name if above == "." else f"{above}/{name}"] = _identity(here / name)
    return Tree(paths, lambda path: _read(folder / path))


def _identity(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        return _link(path)
    return _hashed(_read(path)) if stat.S_ISREG(mode) else "special file"


def _link(path: Path) -> str:
    # A path would lose a slash at the end.
    return f"link {_hashed(os.readlink(os.fsencode(path)))}"  # noqa: PTH115


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror}") from None


def _hashed(content: bytes) -> str:
    # As git names it, so that a folder can be compared with a commit.
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _commit(reference: str, root: Path) -> Tree:
    git = Git(root, _WITHOUT_GIT)
    commit = git.commit(reference)
    if commit is None:
        raise SourceError(f"{reference}: no such commit or folder")
    entries = git.tree(commit)
    kinds = {"file": "", "link": "link ", "submodule": "submodule "}
    blobs = {entry.path: entry.blob for entry in entries}
    read = functools.cache(Objects(git).read)
    return Tree(
        {entry.path: kinds[entry.kind] + entry.blob for entry in entries},
        lambda path: read(blobs[path]),
    )
