"""Findings of the check against the syncs of a run, as ``golden syncs -o`` measures them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from codemods.hotpath.results import HEATS, Finding, Heat, Report
from codemods.program.source import SourceError

Verdict = Literal["confirmed", "another heat", "no sync", "not executed", "not reported"]
_Key = tuple[str, int]
# So many syncs of a line between two steps come from a loop.
_MANY = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured run.

    Attributes:
        syncs: what waited at each line, and how often, in words.
        hot: the lines that wait in most steps, or many times in a step.
        ran: the functions that computed on the device, as path and qualified name.
    """

    syncs: dict[_Key, list[str]]
    hot: frozenset[_Key]
    ran: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Row:
    """A line that the checker reports, or that waits in a loop: what both say of it."""

    path: str
    line: int
    verdict: Verdict
    code: str = ""
    heat: Heat | None = None
    syncs: tuple[str, ...] = ()


def read_measured(path: Path) -> Measured:
    """Read a file of ``golden syncs -o``. Raises `SourceError` if it is none."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror}") from None
    except ValueError as error:
        raise SourceError(f"{path}: not valid JSON: {error}") from None
    try:
        return _measured(document)
    except (KeyError, TypeError):
        raise SourceError(f"{path}: not a file of `golden syncs -o`; make it anew") from None


def _measured(document: dict[str, Any]) -> Measured:
    syncs: dict[_Key, list[str]] = defaultdict(list)
    counts: Counter[_Key] = Counter()
    windows: Counter[_Key] = Counter()
    for row in document["syncs"]:
        key = (row["file"], row["line"])
        syncs[key].append(f"{row['kind']} {row['often']}")
        # What torch does inside of one call, such as `Module.to`, is no loop of the program.
        counts[key] += 0 if row["call"] else row["count"]
        windows[key] = max(windows[key], row["windows"])
    steps = document["steps"]
    hot = {key for key, n in windows.items() if 2 * n >= max(steps, 4) or counts[key] >= _MANY * n}
    ran = frozenset((row["file"], row["function"]) for row in document["ran"])
    return Measured(dict(syncs), frozenset(hot), ran)


def crosscheck(report: Report, measured: Measured) -> list[Row]:
    """Say of each reported line whether it waits, and of each hot line that waits whether it is reported.

    Raises `SourceError` if no file of the run was checked.
    """
    measured = _from_root(measured, report.contents)
    findings: dict[tuple[_Key, str], Finding] = {}
    known: set[_Key] = set()
    every = [found for found in _findings(report) if found.heat is not None]
    # Of several ways to a place the hottest counts.
    for found in sorted(every, key=lambda found: HEATS.index(found.heat or "once")):
        findings.setdefault(((found.place.path, found.place.line), found.code), found)
        known.update(_lines(found))
    rows = [_row(found, measured) for found in findings.values()]
    rows += [
        Row(*key, "not reported", syncs=tuple(measured.syncs[key]))
        for key in measured.hot - known
        if key[0] in report.contents
    ]
    return sorted(rows, key=lambda row: (row.path, row.line, row.code))


def _from_root(measured: Measured, checked: Collection[str]) -> Measured:
    """The same, with files as they are named from the root of the check: a run may be of another folder."""
    files = {file for file, _ in (*measured.syncs, *measured.ran)}
    if not files or not files.isdisjoint(checked):
        return measured
    pairs = [(file, path) for file in sorted(files) for path in checked]
    shifts = Counter((file[: -len(path)], "") for file, path in pairs if file.endswith(f"/{path}"))
    shifts.update(("", path[: -len(file)]) for file, path in pairs if path.endswith(f"/{file}"))
    if not shifts:
        raise SourceError("no file of the measured run is among those that were checked; name its folder")
    ((drop, add), _), *_ = shifts.most_common(1)

    def key(file: str) -> str:
        return add + file.removeprefix(drop)

    return Measured(
        {(key(file), line): said for (file, line), said in measured.syncs.items()},
        frozenset((key(file), line) for file, line in measured.hot),
        frozenset((key(file), function) for file, function in measured.ran),
    )


def _findings(report: Report) -> list[Finding]:
    return [*report.findings, *(item.finding for item in report.allowed)]


def _lines(found: Finding) -> Iterator[_Key]:
    return ((found.place.path, line) for line in range(found.place.line, found.place.end_line + 1))


def _row(found: Finding, measured: Measured) -> Row:
    place, heat = found.place, found.heat
    lines = [key for key in _lines(found) if key in measured.syncs]
    syncs = tuple(text for key in lines for text in measured.syncs[key])
    verdict: Verdict
    if syncs:
        hot = any(key in measured.hot for key in lines)
        verdict = "confirmed" if hot == (heat in ("env", "step")) else "another heat"
    else:
        ran = (place.path, found.function or "<module>") in measured.ran
        verdict = "no sync" if ran else "not executed"
    return Row(place.path, place.line, verdict, found.code, heat, syncs)


def summary(rows: list[Row]) -> str:
    """The share of reported lines that wait, and of hot lines that are reported."""
    count = Counter(row.verdict for row in rows)
    waiting = count["confirmed"] + count["another heat"]
    ran = waiting + count["no sync"]
    hot = [row for row in rows if row.verdict == "confirmed" and row.heat in ("env", "step")]
    colder = [row for row in rows if row.verdict == "another heat" and row.heat not in ("env", "step")]
    seen = len({(row.path, row.line) for row in hot})
    missed = count["not reported"] + len({(row.path, row.line) for row in colder})
    share = f"{waiting} of {ran} reported operations that ran wait, {count['confirmed']} as often as said"
    return (
        f"hotpath: {share}; "
        f"{count['not executed']} did not run; "
        f"{seen} of {seen + missed} lines that wait in loops are reported"
    )
