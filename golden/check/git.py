"""Other versions of a repository, as temporary git worktrees."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from golden.trace.errors import UnusableInput


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise UnusableInput("git is not installed, so no other version can be compared") from None


def uncommitted(root: Path) -> int:
    """How many files of the working tree differ from its commit."""
    status = _git(root, "status", "--porcelain", "--", ".")
    return len(status.stdout.splitlines())


@contextlib.contextmanager
def worktree(root: Path, ref: str) -> Iterator[Path]:
    """The version ``ref`` of the repository that holds ``root``, at the folder matching ``root``."""
    inside = _git(root, "rev-parse", "--show-prefix")
    if inside.returncode != 0:
        raise UnusableInput(f"{root} is not in a git repository, so it has no version {ref}")
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit.returncode != 0:
        raise UnusableInput(f"git ref {ref} does not exist in {root}")
    with tempfile.TemporaryDirectory(prefix="golden-tree-") as scratch:
        tree = Path(scratch) / "tree"
        added = _git(root, "worktree", "add", "--detach", str(tree), commit.stdout.strip())
        try:
            if added.returncode != 0:
                raise UnusableInput(f"can't check out {ref}: {added.stderr.strip().splitlines()[-1]}")
            _update_submodules(tree, ref)
            yield tree / inside.stdout.strip()
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))
            _git(root, "worktree", "prune")


def share(paths: Sequence[str], root: Path, tree: Path) -> None:
    """Link files and folders of ``root`` into a tree that lacks them: data that git does not keep."""
    for path in paths:
        source, target = root / path, tree / path
        if not source.exists():
            raise UnusableInput(f"[data] paths: {source} does not exist")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source.resolve())


def _update_submodules(tree: Path, ref: str) -> None:
    if not (tree / ".gitmodules").exists():
        return
    updated = _git(tree, "submodule", "update", "--init", "--recursive")
    if updated.returncode != 0:
        reason = updated.stderr.strip().splitlines()[-1]
        raise UnusableInput(f"can't check out the submodules of {ref}: {reason}")
