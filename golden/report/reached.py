"""What of a change the runs executed, as rows of a page: both versions side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from golden.reach.evidence import Evidence, Row
from golden.reach.tell import headline

_MOST_ROWS = 4000
Look = Literal["", "ran", "idle", "unknown"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A line of one version: whether it ran, and in which runs."""

    line: int | None
    text: str
    look: Look
    title: str


@dataclass(frozen=True, slots=True)
class File:
    """A file that changed: its passages, and how many lines of it ran of those that can."""

    path: str
    ran: int
    total: int
    passages: list[list[tuple[Cell, Cell]]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What there is to show; ``left_out`` counts rows beyond what a page can hold."""

    headline: str
    files: list[File]
    both: bool
    left_out: int


def shown(evidence: Evidence) -> Shown:
    """The changed lines of all files; those with most lines that did not run come first."""
    left = _MOST_ROWS
    files: list[File] = []
    left_out = 0
    runs = _runs_by_line(evidence)
    for path in sorted({passage.path for passage in evidence.passages}, key=lambda p: _order(evidence, p)):
        passages = []
        for passage in evidence.passages:
            if passage.path != path:
                continue
            if len(passage.rows) > left:
                left_out += len(passage.rows)
                continue
            left -= len(passage.rows)
            passages.append([_cells(evidence, path, row, runs) for row in passage.rows])
        ran, total = _counts(evidence, path)
        files.append(File(path, ran, total, passages))
    told = headline(evidence).removeprefix("diff coverage: ")
    return Shown(told[:1].upper() + told[1:], files, evidence.before is not None, left_out)


def _order(evidence: Evidence, path: str) -> tuple[int, str]:
    ran, total = _counts(evidence, path)
    return ran - total, path


def _counts(evidence: Evidence, path: str) -> tuple[int, int]:
    sides = [side for _, side in evidence.sides]
    return (
        sum(len(side.ran.get(path, ())) for side in sides),
        sum(len(side.changed.get(path, ())) for side in sides),
    )


_Runs = dict[tuple[str, str, int], list[str]]


def _runs_by_line(evidence: Evidence) -> _Runs:
    """The runs that executed a line, by side, file and line."""
    found: _Runs = {}
    for run in evidence.runs:
        for name, side in (("base", run.before), ("head", run.after)):
            for path, lines in side.ran.items() if side is not None else ():
                for line in lines:
                    found.setdefault((name, path, line), []).append(run.name)
    return found


def _cells(evidence: Evidence, path: str, row: Row, runs: _Runs) -> tuple[Cell, Cell]:
    return (
        _cell(evidence, "base", path, row.before, row.left, runs),
        _cell(evidence, "head", path, row.after, row.right, runs),
    )


def _cell(evidence: Evidence, side: str, path: str, line: int | None, text: str, runs: _Runs) -> Cell:
    known = dict(evidence.sides).get(side)
    if line is None or known is None or line not in known.changed.get(path, ()):
        return Cell(line, text, "", "")
    if evidence.problem:
        return Cell(line, text, "unknown", evidence.problem)
    if ran := runs.get((side, path, line)):
        return Cell(line, text, "ran", f"run by {', '.join(ran)}")
    return Cell(line, text, "idle", "no run executes it")
