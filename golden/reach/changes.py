"""Lines of a change that can run, on both sides, and those of them that did."""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

_FLAG = "TYPE_CHECKING"
Lines = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Change:
    """The lines of two versions, by file, that the other one has not in their place and that can run.

    ``head`` is a ref, or None for the working tree; ``files`` are those whose lines are noted.
    """

    base: str
    head: str | None
    files: tuple[str, ...]
    before: Lines
    after: Lines


def compare_files(base: Path, head: Path, files: Sequence[str]) -> tuple[Lines, Lines]:
    """Return such lines of files below two folders; one that is no text on a side counts as empty there."""
    before: dict[str, frozenset[int]] = {}
    after: dict[str, frozenset[int]] = {}
    for path in files:
        old, new = _read(base / path), _read(head / path)
        left, right = old.splitlines(), new.splitlines()
        matcher = SequenceMatcher(None, left, right, autojunk=False)
        gone, come = set[int](), set[int]()
        for operation, i, j, k, m in matcher.get_opcodes():
            if operation != "equal":
                gone.update(range(i + 1, j + 1))
                come.update(range(k + 1, m + 1))
        for side, text, lines in ((before, old, gone), (after, new, come)):
            if found := (lines & runnable(compiled(text))) - for_types(text):
                side[path] = frozenset(found)
    return before, after


def runnable(code: types.CodeType | None) -> frozenset[int]:
    """Return lines on which code stands; none of a text that is no Python."""
    found: set[int] = set()
    waiting = [code] if code is not None else []
    while waiting:
        code = waiting.pop()
        first = code.co_firstlineno if code.co_name != "<module>" else 0
        found.update(line for _, _, line in code.co_lines() if line and line != first)
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found)


def for_types(text: str) -> frozenset[int]:
    """Return lines that only a type checker reads: those below ``if TYPE_CHECKING:`` at the top of a file."""
    if _FLAG not in text:
        return frozenset()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    lines = set[int]()
    for node in tree.body:
        # By any name of typing, or the file's own: `TYPE_CHECKING = False` saves an import.
        if isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == _FLAG:
            lines.update(range(node.lineno + 1, (node.body[-1].end_lineno or 0) + 1))
    return frozenset(lines)


def compiled(text: str | bytes) -> types.CodeType | None:
    """Return the instructions of a file; None for one that is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
