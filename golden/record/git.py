"""Other versions of a repository, as temporary git worktrees."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from golden.trace.errors import UnusableInput

_NEW = ("--others", "--exclude-standard")
_IGNORED = ("--others", "--ignored", "--exclude-standard", "--directory")
_BYTECODE = "__pycache__"
# The place of a tree in its temporary folder, with room above it for what a program finds at `../data`.
TREE = "a/b/c/d/tree"


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            encoding=sys.getfilesystemencoding(),
            errors=sys.getfilesystemencodeerrors(),
            check=False,
        )
    except FileNotFoundError:
        raise UnusableInput("git is not installed, so no other version can be compared") from None


def uncommitted(root: Path) -> int:
    """Count the files of the working tree that differ from its commit."""
    status = _git(root, "status", "--porcelain", "--", ".")
    return len(status.stdout.splitlines())


def top_of(root: Path) -> Path | None:
    """Return the top folder of the repository that holds ``root``; None where git knows of none."""
    try:
        found = _git(root, "rev-parse", "--show-toplevel")
    except UnusableInput:
        return None
    return Path(found.stdout.rstrip("\n")).resolve() if found.returncode == 0 else None


def ignored_below(root: Path) -> list[str]:
    """Return files and folders at the top of ``root`` that git ignores, but for bytecode and hidden ones."""
    names = {name.split("/")[0] for name in _listed(root, *_IGNORED) if not name.startswith(".")}
    return sorted(names - {_BYTECODE})


def commit_of(root: Path, ref: str) -> str:
    """Return the commit that ``ref`` names. Raises `UnusableInput` if there is none."""
    if _git(root, "rev-parse", "--show-prefix").returncode != 0:
        raise UnusableInput(f"{root} is not in a git repository, so it has no version {ref}")
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit.returncode != 0:
        shallow = _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
        more = "; this clone is shallow: get more of it with `git fetch --unshallow`" if shallow else ""
        raise UnusableInput(f"git ref {ref} does not exist in {root}{more}")
    return commit.stdout.strip()


def changed_python(root: Path, base: str, head: str | None) -> list[str]:
    """Return Python files below ``root`` that differ between a ref and another one, or the working tree."""
    against = [commit_of(root, ref) for ref in (base, head) if ref is not None]
    listed = _git(
        root, "diff", "--no-renames", "--name-only", "-z", "--relative", *against, "--", "."
    ).stdout.split("\0")
    if head is None:
        listed += _listed(root, *_NEW)
    return sorted(name for name in set(listed) if name.endswith(".py"))


def files_of(root: Path, *, untracked: bool = True) -> list[str] | None:
    """Return the files below ``root`` that git keeps or would keep, with submodules; None without git.

    Without ``untracked`` those alone that it keeps.
    """
    try:
        kept = _listed(root, "--cached", "--recurse-submodules")
        new = _listed(root, *_NEW) if untracked else []
    except UnusableInput:
        return None
    # A file that is deleted and not committed is still listed.
    return sorted(name for name in {*kept, *new} if os.path.lexists(root / name))


def untracked(root: Path) -> list[str]:
    """List files below ``root`` that git neither keeps nor ignores, but Python's: those are a change."""
    return [name for name in _listed(root, *_NEW) if not name.endswith(".py")]


def _listed(root: Path, *which: str, below: str = ".") -> list[str]:
    found = _git(root, "ls-files", "-z", *which, "--", below)
    if found.returncode != 0:
        raise UnusableInput(f"git can't list the files of {root}: {found.stderr.strip()}")
    return [name for name in found.stdout.split("\0") if name]


@contextlib.contextmanager
def worktree(root: Path, ref: str, *, submodules: bool = True) -> Iterator[Path]:
    """Give the version ``ref`` of the repository that holds ``root``, at the folder matching ``root``."""
    commit = commit_of(root, ref)
    inside = _git(root, "rev-parse", "--show-prefix")
    with tempfile.TemporaryDirectory(prefix="golden-tree-") as scratch:
        tree = Path(scratch) / TREE
        added = _git(root, "worktree", "add", "--detach", str(tree), commit)
        try:
            if added.returncode != 0:
                raise UnusableInput(f"can't check out {ref}: {added.stderr.strip().splitlines()[-1]}")
            if submodules:
                update_submodules(tree, ref, here=root)
            yield tree / inside.stdout.strip()
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))
            _git(root, "worktree", "prune")


def share(paths: Sequence[str], root: Path, tree: Path) -> None:
    """Link files and folders of ``root`` into a tree that lacks them: data that git does not keep.

    What git keeps is refused: a version would be given code of another one. Of a folder that it keeps a part
    of, what it ignores is linked; what is outside of the repository, beside the tree.
    """
    for path in paths:
        source, target = root / path, tree / path
        if not source.exists():
            raise UnusableInput(f"[data] paths: {source} does not exist")
        kept = _git(root, "ls-files", "--", path)
        outside = kept.returncode != 0
        if outside and Path(path).parts.count("..") > len(Path(TREE).parts) - 1:
            raise UnusableInput(
                f"[data] paths: {path} is too far up: write {{data}} where the command names it"
            )
        if not kept.stdout and not target.exists():
            _link(source, target)
            continue
        if outside:
            continue
        beside = _listed(root, *_IGNORED, below=path) if source.is_dir() else []
        if not beside and not target.exists():
            raise UnusableInput(f"[data] paths: git keeps {path}; only what git does not keep can be shared")
        for name in beside:
            # Bytecode would be written back through the link.
            if _BYTECODE not in Path(name).parts and not (tree / name).exists():
                _link(root / name, tree / name)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source.resolve())


def update_submodules(tree: Path, ref: str, *, here: Path) -> None:
    """Check out the submodules of a tree but those that are missing ``here``: its program does without.

    Raises `UnusableInput` if one can't be.
    """
    tree = Path(_git(tree, "rev-parse", "--show-toplevel").stdout.strip())
    if not (tree / ".gitmodules").exists():
        return
    missing = _missing_submodules(Path(_git(here, "rev-parse", "--show-toplevel").stdout.strip()))
    wanted = sorted(_missing_submodules(tree) - missing)
    if not wanted:
        return
    updated = _git(tree, "submodule", "update", "--init", "--recursive", "--", *wanted)
    if updated.returncode != 0:
        reason = updated.stderr.strip().splitlines()[-1]
        raise UnusableInput(f"can't check out the submodules of {ref}: {reason}")


def _missing_submodules(top: Path) -> set[str]:
    told = _git(top, "submodule", "status").stdout.splitlines()
    return {line.partition(" ")[2] for line in told if line.startswith("-")}
