"""Paths that git ignores: those of init must not be among them, scratch of a run should be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from ci.git import git, ignored_paths

_FILE = ".gitignore"
_DEPTH = 2  # golden/runs, golden/fixtures
_SCRATCH = re.compile(
    r"(^|/)(__pycache__|\.[^/]+|venv|env|build|dist|out|outputs?|runs|logs?|wandb|mlruns|lightning_logs"
    r"|checkpoints?|ckpts?|results)(/|$)|\.(pyc|egg-info|log)(/|$)"
)


def ignored(root: Path, paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return those of the paths that git ignores, each with the rule as ``file:line:pattern``."""
    found = []
    for path in paths:
        told = git(root, "check-ignore", "-v", "--no-index", "--", path.as_posix())
        rule = told.partition("\t")[0]
        if told and not rule.rpartition(":")[2].startswith("!"):
            found.append((path.as_posix(), rule))
    return found


def unignore(root: Path, paths: Sequence[Path]) -> str:
    """The text of ``.gitignore`` with lines that take paths, and the folders above them, out again."""
    lines: list[str] = []
    for path in paths:
        above = list(path.parents)[-2::-1][:_DEPTH]
        lines += [f"!/{folder.as_posix()}/" for folder in above]
        lines.append(f"!/{above[-1].as_posix()}/**" if above else f"!/{path.as_posix()}")
    return _with(root, "What golden-gate compares with belongs to the repository.", lines)


def ignore(root: Path, names: Sequence[str]) -> str:
    """The text of ``.gitignore`` with lines for what a run leaves behind."""
    return _with(root, "What a golden run leaves behind.", [f"/{name}" for name in names])


def _with(root: Path, reason: str, lines: Sequence[str]) -> str:
    path = root / _FILE
    before = path.read_text("utf-8") if path.is_file() else ""
    new = [line for line in dict.fromkeys(lines) if line not in before.splitlines()]
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return before + gap + "\n".join([f"# {reason}", *new]) + "\n"


def untracked(root: Path) -> set[str]:
    """Return the files and whole folders of the repository that git neither tracks nor ignores."""
    told = git(root, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    return {line[3:].strip('"') for line in told.splitlines() if line.startswith("??")}


def needed(root: Path, words: Collection[str]) -> list[str]:
    """Return the paths that git ignores and a program names, but for scratch: its data, most likely.

    Where git keeps a part of a folder, the folder stands for what is ignored in it.
    """
    named = []
    for name in ignored_paths(root):
        path = Path(name)
        if not _SCRATCH.search(f"{name}/"):
            named += [each.as_posix() for each in (path, *path.parents) if each.name and each.name in words][
                :1
            ]
    return list(dict.fromkeys(named))
