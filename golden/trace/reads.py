"""Host reads by the place in the program that asks for them."""

from __future__ import annotations

from collections import Counter

from golden.trace.trace import Process, Site


def totals(process: Process) -> Counter[Site]:
    """The reads of a process by site, from its start to its end."""
    found: Counter[Site] = Counter(dict(process.reads or {}))
    for step in process.steps:
        found.update(dict(step.reads or {}))
    return found
