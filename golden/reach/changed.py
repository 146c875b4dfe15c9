"""Which lines of a change can run, on both sides, and which of them did."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from golden.reach.reached import Reached


@dataclass(frozen=True, slots=True)
class Changed:
    """Lines of one side's files that the other side does not have in their place and that code stands on."""

    lines: Mapping[str, frozenset[int]]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self.lines.values()))

    def ran(self, reached: Reached) -> Changed:
        """Those of them that ran."""
        return Changed(
            {path: lines & reached.files.get(path, frozenset()) for path, lines in self.lines.items()}
        )

    def missed(self, reached: Reached) -> Iterator[tuple[str, int, int]]:
        """Files with the first and last line of each stretch that did not run."""
        all_ran = self.ran(reached).lines
        for path in sorted(self.lines):
            ran = all_ran[path]
            first = last = 0
            for line in sorted(self.lines[path]):
                if line in ran:
                    if first:
                        yield path, first, last
                    first = 0
                else:
                    first, last = first or line, line
            if first:
                yield path, first, last


def changed_lines(base: Path, head: Path, files: list[str]) -> tuple[Changed, Changed]:
    """The changed lines of some files below two folders, on the base's side and on the head's."""
    before: dict[str, frozenset[int]] = {}
    after: dict[str, frozenset[int]] = {}
    for path in files:
        old, new = _read(base / path), _read(head / path)
        matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
        gone, come = set[int](), set[int]()
        for operation, i, j, k, m in matcher.get_opcodes():
            if operation != "equal":
                gone.update(range(i + 1, j + 1))
                come.update(range(k + 1, m + 1))
        for side, text, lines in ((before, old, gone), (after, new, come)):
            if found := lines & runnable(compiled(text)):
                side[path] = frozenset(found)
    return Changed(before), Changed(after)


def runnable(code: types.CodeType | None) -> frozenset[int]:
    """Lines on which code stands; none of a text that is no Python."""
    found: set[int] = set()
    waiting = [code] if code is not None else []
    while waiting:
        code = waiting.pop()
        first = code.co_firstlineno if code.co_name != "<module>" else 0
        found.update(line for _, _, line in code.co_lines() if line and line != first)
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found)


def compiled(text: str | bytes) -> types.CodeType | None:
    """The instructions of a file; None for one that is no Python."""
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
