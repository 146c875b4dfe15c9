"""Queries to git."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(root: Path, *arguments: str) -> str:
    """Return the output of a git command; nothing if it fails, or without git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.rstrip("\n") if done.returncode == 0 else ""


def ignored_paths(root: Path) -> list[str]:
    """Return the paths below ``root`` that git ignores, a folder as one."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory")
    return [name.rstrip("/") for name in git(root, "ls-files", *options, "--", ".").splitlines()]
