"""Folders of files that tests write, read back and commit."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files by their paths below a folder; the folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def read(root: Path) -> dict[str, bytes]:
    """Read all files below a folder, by their paths; those that Python compiled are left out."""
    found = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def git(root: Path, *arguments: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL)


def commit(root: Path, message: str = "change") -> None:
    """Commit everything that is in a folder, as the first commit of a repository if it is in none."""
    if not (root / ".git").exists():
        git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
