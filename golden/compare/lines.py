"""Two logs of executed lines: the first line that one side lacks, or that sets another value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from golden.compare.divergence import unequal
from golden.compare.sequences import stretches

_ALIGN_AT_MOST = 20_000
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Line:
    """One executed line: where, its text, and the plain values that it changed."""

    file: str
    number: int
    function: str
    text: str
    values: Mapping[str, str]

    @property
    def place(self) -> str:
        """Its file, line and function, for people."""
        return f"{self.file}:{self.number} {self.function}"

    @property
    def form(self) -> str:
        """Its text, with attributes of ``self`` as the variables that they may have been."""
        return self.text.replace("self.", "")

    @property
    def imports(self) -> bool:
        """Tell whether it is an import, which sets nothing new."""
        return self.text.startswith(("import ", "from "))


def read_lines(path: Path) -> list[Line]:
    """Return a log of lines in order."""
    return [Line(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


# Of a line, by its text, a name whose value can't repeat.
Noise = frozenset[tuple[str, str]]
_Gap = tuple[Sequence[Line], Sequence[Line]]
# The values that names have by now, on both sides.
_Held = tuple[dict[str, str], dict[str, str]]


def noise(left: Sequence[Line], right: Sequence[Line]) -> Noise:
    """Collect the values that differ between two logs of one program: times, ids, what hangs on them."""
    found = set()
    for x, y in (sides for same, sides in _stretches(left, right) if same):
        for a, b in zip(x, y, strict=True):
            found |= {(a.form, name) for name in unequal(a.values, b.values)}
    return frozenset(found)


def locate_line(left: Sequence[Line], right: Sequence[Line], known: Noise) -> str:
    """Tell of the line at which two runs part; empty where all lines agree in all that was noted.

    The first line that sets another value, or the line before it that only one side has and that sets a
    value which the other one uses. What is ``known`` to differ anyway is passed over.
    """
    # Stretches that one side runs otherwise, with the names that have other values since then.
    gaps: list[tuple[_Gap, set[str]]] = []
    held: _Held = {}, {}
    noisy = {name for _, name in known}
    for same, (x, y) in _stretches(left, right):
        if not same:
            others = _set_otherwise((x, y), held) - noisy
            # Without a text it is what was set before.
            gap = [line for line in x if line.text], [line for line in y if line.text]
            gaps += [(gap, others)] if any(gap) else []
            continue
        for a, b in zip(x, y, strict=True):
            held[0].update(a.values)
            held[1].update(b.values)
            both = (n for n in unequal(a.values, b.values) if n in held[0] and n in held[1])
            names = [n for n in both if held[0][n] != held[1][n] and (a.form, n) not in known]
            if names and a.text:
                used = {*names, *_IDENTIFIER.findall(a.text)}
                effective = _still_apart(gaps, held)
                causes = [gap for gap, others in effective if others & used] or [gap for gap, _ in effective]
                return _of_gap(causes[-1]) if causes else _told(a, b, names)
    if effective := _still_apart(gaps, held):
        return _of_gap(effective[0][0])
    every = [gap for gap, _ in gaps if not all(line.imports for side in gap for line in side)]
    # Of lines that set nothing which can be seen, those that differ least were rewritten the least.
    wanted = sorted((gap for gap in every if all(gap)), key=_likeness)[-1:] or every[-1:]
    return _of_gap(wanted[0]) if wanted else ""


def _likeness(gap: _Gap) -> float:
    left, right = ("\n".join(line.form for line in side) for side in gap)
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def _apart(names: Iterable[str], held: _Held) -> set[str]:
    """Return the names that hold another value on one side than on the other."""
    return {name for name in names if held[0].get(name) != held[1].get(name)}


def _still_apart(gaps: Sequence[tuple[_Gap, set[str]]], held: _Held) -> list[tuple[_Gap, set[str]]]:
    """Return the stretches that still set something otherwise: what was set to the same again is no cause."""
    left = ((gap, _apart(others, held)) for gap, others in gaps)
    return [(gap, others) for gap, others in left if others]


def _set_otherwise(gap: _Gap, held: _Held) -> set[str]:
    """Add what lines of both sides set to what names ``held`` before; return those that differ now, but for
    what was imported.
    """
    names = set[str]()
    for side, values in zip(gap, held, strict=True):
        for line in side:
            values.update(line.values)
            names.update(line.values if line.text and not line.imports else ())
    return _apart(names, held)


def _of_gap(gap: _Gap) -> str:
    left, right = (side[0] if side else None for side in gap)
    if left is not None and right is not None:
        return _told(left, right, unequal(left.values, right.values))
    line, side = (left, "missing") if left is not None else (right, "extra")
    assert line is not None
    return f"{line.place} `{line.text}` is {side} in head"


def _told(a: Line, b: Line, names: Sequence[str]) -> str:
    at = f"{a.place} (head: {b.place})" if b.place != a.place else a.place
    text = f"`{a.text}`" if a.text == b.text else f"`{a.text}` -> `{b.text}`"
    if not names:
        return f"{at} {text}"
    before, after = (line.values.get(names[0], "unchanged") for line in (a, b))
    return f"{at} {text} sets {names[0]}: {before} -> {after}"


def _stretches(left: Sequence[Line], right: Sequence[Line]) -> Iterator[tuple[bool, _Gap]]:
    """Yield stretches in which both sides run the same lines, of whatever functions, and those between."""
    a, b = ([line.form for line in side] for side in (left, right))
    for same, (x, i, y, j) in stretches(a, b, _ALIGN_AT_MOST):
        yield same, (left[x:i], right[y:j])
