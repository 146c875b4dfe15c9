"""The version to compare with: its ref, and its tree, checked out when a check first asks for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path

from ci.git import git, ignored_paths
from golden.record.git import commit_of, share, update_submodules, worktree

_FEW = 3


class Base:
    """A git ref of the repository at ``here``. Raises `UnusableInput` for a ref that names no commit."""

    def __init__(self, ref: str, here: Path, stack: contextlib.ExitStack) -> None:
        self.ref = ref
        self.commit = commit_of(here, ref)
        self._here = here
        self._stack = stack
        self._shared: dict[str, None] = {}
        self._root: Path | None = None
        self._ready = False
        self._lock = threading.RLock()

    @property
    def root(self) -> Path:
        """Its tree as it was committed, without submodules: enough for what is only read."""
        with self._lock:
            if self._root is None:
                found = worktree(self._here, self.commit, submodules=False)
                self._root = self._stack.enter_context(found)
            return self._root

    @property
    def runnable(self) -> Path:
        """Its tree with its submodules: what a program runs in."""
        with self._lock:
            if not self._ready:
                update_submodules(self.root, self.ref, here=self._here)
                self._ready = True
            return self.root

    def share(self, paths: Sequence[str]) -> None:
        """Give its tree links to what a run needs and git does not keep."""
        with self._lock:
            share(paths, self._here, self.runnable)
            self._shared |= dict.fromkeys(paths)

    def told(self) -> str:
        """Return a line that names both sides."""
        here = git(self._here, "rev-parse", "--short", "HEAD") or "no commit"
        edited = _edited(self._here)
        more = f" and {len(edited) - _FEW} more" if len(edited) > _FEW else ""
        dirty = f" with uncommitted changes ({', '.join(edited[:_FEW])}{more})" if edited else ""
        shared = f"; from here to both: {', '.join(self._shared)}" if self._shared else ""
        modules = "; submodules as each side has them" if (self._here / ".gitmodules").exists() else ""
        return f"compared: {self.ref} ({self.commit[:9]}) with this tree, {here}{dirty}{modules}{shared}"

    def missing(self) -> str:
        """Return a hint for a run that fails at the base: the files here that git ignores."""
        names = ignored_paths(self._here)
        found = [name for name in names if name not in self._shared and not _made(name)]
        if not found:
            return ""
        more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
        return f" (git ignores {', '.join(found[:_FEW])}{more}; name what the run needs)"


def _made(name: str) -> bool:
    """Return whether tools leave such a path behind."""
    last = name.rpartition("/")[2]
    return "__pycache__" in name or last.startswith(".") or last.endswith((".egg-info", ".pyc"))


def _edited(root: Path) -> list[str]:
    return [line[2:].strip() for line in git(root, "status", "--porcelain", "--", ".").splitlines()]


def prefix_of(root: Path) -> str:
    """How paths of ``root`` begin where they are told from the top of its git repository."""
    return git(root, "rev-parse", "--show-prefix").strip()
