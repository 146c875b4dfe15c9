"""Two logs of executed lines: the first line that one side lacks, or that sets another value."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from golden.compare.divergence import unequal
from golden.compare.sequences import blocks

_ALIGN_AT_MOST = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """One executed line: where, its text, and the plain values that it changed."""

    file: str
    number: int
    function: str
    text: str
    values: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        """Its file, line and function, for people."""
        return f"{self.file}:{self.number} {self.function}"


@dataclass(frozen=True, slots=True)
class LineChange:
    """The place where two runs of the program's own lines part.

    ``value``: the same line sets another value (``name``, ``before``, ``after``), ``edited``: another line
    in its place, ``missing`` and ``extra``: a line that only one side runs.
    """

    change: Literal["value", "edited", "missing", "extra"]
    left: Line | None
    right: Line | None
    name: str = ""
    before: str = ""
    after: str = ""


def read_lines(path: Path) -> list[Line]:
    """Return a log of lines in order."""
    return [
        Line(r["file"], r["line"], r["function"], r["text"], tuple(r["set"].items()))
        for r in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


# Of a line, by function and text, a name whose value can't repeat.
Noise = frozenset[tuple[str, str, str]]
_Gap = tuple[Sequence[Line], Sequence[Line]]


def noise(left: Sequence[Line], right: Sequence[Line]) -> Noise:
    """Collect the values that differ between two logs of one program: times, ids, what hangs on them."""
    found = set()
    for i, j, size in _blocks(left, right):
        for a, b in zip(left[i : i + size], right[j : j + size], strict=True):
            found |= {(a.function, a.text, name) for name in _changed(a, b)}
    return frozenset(found)


def locate_line(left: Sequence[Line], right: Sequence[Line], known: Noise = frozenset()) -> LineChange | None:
    """Return the line at which two runs part; None where all lines agree in all that was noted.

    The first line that sets another value, or the line before it that only one side has and that sets a
    value which the other one uses. What is ``known`` to differ anyway is passed over.
    """
    gaps: list[_Gap] = []
    x = y = 0
    for i, j, size in _blocks(left, right):
        if i > x or j > y:
            gaps.append((left[x:i], right[y:j]))
        for a, b in zip(left[i : i + size], right[j : j + size], strict=True):
            names = [n for n in _changed(a, b) if (a.function, a.text, n) not in known]
            if names:
                causes = [gap for gap in gaps if _set_otherwise(gap) & {*names, *_IDENTIFIER.findall(a.text)}]
                causes = causes or [gap for gap in gaps if _set_otherwise(gap)]
                return _of_gap(causes[-1]) if causes else _value(a, b, names[0])
        x, y = i + size, j + size
    effective = [gap for gap in gaps if _set_otherwise(gap)]
    return _of_gap((effective or gaps)[0]) if gaps else None


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def _changed(a: Line, b: Line) -> list[str]:
    return unequal(dict(a.values), dict(b.values))


def _set_otherwise(gap: _Gap) -> set[str]:
    """Return the names that lines of one side set otherwise than those of the other in their place."""
    x, y = ({name: value for line in side for name, value in line.values} for side in gap)
    return set(unequal(x, y))


def _of_gap(gap: _Gap) -> LineChange:
    left, right = gap
    if not right:
        return LineChange("missing", left[0], None)
    if not left:
        return LineChange("extra", None, right[0])
    names = _changed(left[0], right[0])
    found = _value(left[0], right[0], names[0]) if names else None
    values = (found.name, found.before, found.after) if found is not None else ("", "", "")
    return LineChange("edited", left[0], right[0], *values)


def _value(a: Line, b: Line, name: str) -> LineChange:
    return LineChange(
        "value", a, b, name, dict(a.values).get(name, "unchanged"), dict(b.values).get(name, "unchanged")
    )


def _blocks(left: Sequence[Line], right: Sequence[Line]) -> list[tuple[int, int, int]]:
    a, b = ([f"{line.function}\0{line.text}" for line in side] for side in (left, right))
    return blocks(a, b, _ALIGN_AT_MOST)
