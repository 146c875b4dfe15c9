"""What two runs cost: time, which never counts for the verdict, and reads of tensors by the host."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from golden.report.build import RunReport
from golden.trace.reads import totals
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Cost:
    """One amount on both sides, in words; ``ratio`` is right to left."""

    what: str
    left: str
    right: str
    ratio: str
    same: bool


def timing(report: RunReport) -> list[Cost]:
    """Seconds of the whole run, and of each process with the observer's part of it."""
    a, b = report.left, report.right
    rows = [("whole run", a.about.seconds, b.about.seconds)]
    for x, y in zip(a.processes, b.processes, strict=False):
        name = x.name.replace("-", " ")
        rows.append((name, x.seconds, y.seconds))
        rows.append((f"{name}, observing", x.observing, y.observing))
    return [Cost(what, f"{x:.3g} s", f"{y:.3g} s", _ratio(x, y), x == y) for what, x, y in rows]


def reads(report: RunReport) -> list[Cost]:
    """Reads by function and method: all of them, then those whose number differs, then the others."""
    left, right = _reads(report.left), _reads(report.right)
    places = sorted(left.keys() | right.keys(), key=lambda place: (left[place] == right[place], place))
    if not places:
        return []
    counts = [("all", left.total(), right.total()), *((place, left[place], right[place]) for place in places)]
    return [Cost(what, f"{x:,}", f"{y:,}", _ratio(x, y), x == y) for what, x, y in counts]


def _reads(trace: Trace) -> Counter[str]:
    found: Counter[str] = Counter()
    for process in trace.processes:
        for site, count in totals(process).items():
            found[site.place] += count
    return found


def _ratio(left: float, right: float) -> str:
    return f"{right / left:.2f}" if left else "none in base"
