"""What the source itself switches off: comments for the hot-path check, and code that no check reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ci.git import git
from ci.policy.compare import Weakening
from codemods.hotpath.pragmas import find_pragmas
from codemods.program import python_files, shown_path

_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)


def pragmas(base: Path, head: Path, paths: Sequence[str]) -> Iterator[Weakening]:
    """List ``# hotpath:`` comments that are new, and those that mark a loop as hot and are gone.

    A comment is known by its text and by the line of code that it speaks for: on another line it is new.
    """
    before, after = _pragmas(base, paths), _pragmas(head, paths)
    for (word, text, code), path in sorted(after.items()):
        if (word, text, code) not in before:
            yield Weakening(f"hotpath.{word}", f"is new in the source: {text} at `{code}`", path)
    for (word, text, code), path in sorted(before.items()):
        if word == "loop" and (word, text, code) not in after:
            yield Weakening(f"hotpath.{word}", f"is gone from the source: {text} at `{code}`", path)


def _pragmas(root: Path, paths: Sequence[str]) -> dict[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for path, text in _texts(root, paths).items():
        lines = text.splitlines()
        for pragma in find_pragmas(path, text):
            code = " ".join(lines[pragma.target - 1].partition("# hotpath:")[0].split())
            seen[pragma.text, code] += 1
            number = seen[pragma.text, code]
            shown = code if number == 1 else f"{code} ({number})"
            found[pragma.mark or "allow", pragma.text, shown] = path
    return found


def unread(base: Path, head: Path, paths: Sequence[str]) -> Iterator[Weakening]:
    """List code that the checks read at the base and pass over now.

    That is a Python file that has come into a skipped folder below ``paths``, and a definition that is gone
    from what they read and is new in a file that they don't.
    """
    before, after = _texts(base, paths), _texts(head, paths)
    gone = {name for text in before.values() for name in _DEFINED.findall(text)}
    gone -= {name for text in after.values() for name in _DEFINED.findall(text)}
    for path in _python(head):
        if path in after:
            continue
        if _below(path, paths) and (path in before or not (base / path).exists()):
            yield Weakening("unread", f"{path} is in a folder that no check reads", path)
        elif names := gone & _new_names(base / path, head / path):
            told = ", ".join(sorted(names))
            yield Weakening("unread", f"{told} stands in {path} now, which the checks do not read", path)


def _new_names(before: Path, after: Path) -> set[str]:
    return {*_DEFINED.findall(_text(after))} - {*_DEFINED.findall(_text(before))}


def _texts(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """The files that checks read below some paths."""
    files = (file for path in paths for file in python_files(root / path))
    return {shown_path(file, root): _text(file) for file in files if file.is_file()}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _python(root: Path) -> list[str]:
    """Python files that git keeps, or would keep."""
    options = ("-z", "--cached", "--others", "--exclude-standard")
    found = git(root, "ls-files", *options, "--", "*.py", "*.pyw").split("\0")
    return sorted({path for path in found if path and (root / path).is_file()})


def _below(path: str, folders: Sequence[str]) -> bool:
    plain = [folder.strip("/").removeprefix("./") for folder in folders]
    return any(folder in (".", "", path) or path.startswith(f"{folder}/") for folder in plain)
