"""Host reads by the place in the program that asks for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from golden.trace.trace import Process, Site, Trace

VERSION = 1


@dataclass(frozen=True, slots=True)
class SiteReads:
    """All reads of one site: in how many windows between optimizer steps, and the most in one of them."""

    process: str
    site: Site
    count: int
    steps: int
    most_per_step: int


def totals(process: Process) -> Counter[Site]:
    """The reads of a process by site, from its start to its end."""
    found: Counter[Site] = Counter(dict(process.reads or {}))
    for step in process.steps:
        found.update(dict(step.reads or {}))
    return found


def by_site(trace: Trace) -> list[SiteReads]:
    """Every site of a trace, the busiest of each process first."""
    found = []
    for process in trace.processes:
        for site, count in totals(process).items():
            windows = [n for step in process.steps if (n := (step.reads or {}).get(site, 0))]
            found.append(SiteReads(process.name, site, count, len(windows), max(windows, default=0)))
    return sorted(found, key=lambda r: (r.process, -r.count, r.site.title))


def as_table(trace: Trace) -> dict[str, Any]:
    """The reads of a trace for other tools: one row per process and site."""
    rows = [
        {
            "process": found.process,
            "file": found.site.file,
            "line": found.site.line,
            "function": found.site.function,
            "read": found.site.read,
            "count": found.count,
            "steps": found.steps,
            "most_per_step": found.most_per_step,
        }
        for found in by_site(trace)
    ]
    steps = sum(len(process.steps) for process in trace.processes)
    return {"version": VERSION, "run": trace.about.run, "steps": steps, "sites": rows}
