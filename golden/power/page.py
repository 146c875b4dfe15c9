"""A result as one self-contained HTML page: the files, with what was noticed and what was not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from golden.power.operators import operators
from golden.power.result import Planted, Power, interval
from golden.power.text import headline, place
from golden.report.templates import template

_AROUND = 2
Look = Literal["", "noticed", "missed", "silent"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file, and what was planted in it that nothing noticed; number 0 is a gap."""

    number: int
    text: str
    look: Look
    title: str
    missed: tuple[Planted, ...] = ()


def render_page(power: Power, root: Path) -> str:
    """The page. All text of the program is escaped."""
    judged, noticed = len(power.judged), power.noticed
    low, high = interval(noticed, judged) if judged else (0.0, 1.0)
    return template("power.html.jinja", "golden.power", "golden.report").render(
        headline=headline(power),
        look="identical" if judged and not power.missed else "different" if judged else "unknown",
        power=power,
        noticed=noticed,
        judged=judged,
        bounds=None if power.everything or not judged else (round(100 * low), round(100 * high)),
        runs=[(run, power.told_by(run.name)) for run in power.runs],
        kinds=_kinds(power),
        files=_files(power, root),
        missed=power.missed,
        place=place,
    )


def _kinds(power: Power) -> list[dict[str, Any]]:
    by_kind: dict[str, list[Planted]] = defaultdict(list)
    for planted in power.judged:
        by_kind[planted.operator].append(planted)
    return [
        {
            "name": kind.name.replace("_", " "),
            "what": kind.what,
            "tried": len(by_kind[kind.name]),
            "noticed": sum(planted.noticed for planted in by_kind[kind.name]),
        }
        for kind in operators()
        if kind.name in by_kind
    ]


def _files(power: Power, root: Path) -> list[dict[str, Any]]:
    names = sorted({planted.path for planted in power.judged} | set(power.silent))
    found = []
    for name in names:
        here = [planted for planted in power.judged if planted.path == name]
        missed = sum(not planted.noticed for planted in here)
        rows = _rows(root / name, here, frozenset(power.silent.get(name, ())))
        found.append({"name": name, "rows": rows, "tried": len(here), "missed": missed})
    return found


def _rows(path: Path, here: list[Planted], silent: frozenset[int]) -> list[Row]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    by_line: dict[int, list[Planted]] = defaultdict(list)
    for planted in here:
        by_line[planted.line].append(planted)
    shown = {n + d for n in {*by_line, *silent} for d in range(-_AROUND, _AROUND + 1)}
    rows: list[Row] = []
    last = 0
    for number in sorted(shown & set(range(1, len(lines) + 1))):
        if number > last + 1:
            rows.append(Row(0, "", "", ""))
        last = number
        missed = tuple(planted for planted in by_line[number] if not planted.noticed)
        tried = len(by_line[number])
        look: Look = ""
        title = ""
        if tried:
            look = "missed" if missed else "noticed"
            title = f"{tried - len(missed)} of {tried} killed"
        elif number in silent:
            look, title = "silent", "no run executes it"
        rows.append(Row(number, lines[number - 1], look, title, missed))
    return rows
