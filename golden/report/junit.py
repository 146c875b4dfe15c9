"""Comparisons as JUnit XML: a suite per run, a case per kind of thing that differs or was not compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esper_harness.report.findings import Case, Outcome, Suite
from esper_harness.report.junit import junit_text
from esper_harness.report.plain import listed
from golden.reach.evidence import Evidence
from golden.reach.tell import headline, missed_lines
from golden.report.build import Report

_SHOWN = 20


def render_junit(reports: Sequence[Report], evidence: Evidence | None = None) -> str:
    """Write runs: what differs fails, what could not be judged is an error, what was not compared is skipped.

    A file of a change counts as skipped while not all its lines ran: nothing judged them.
    """
    suites = [Suite(report.name, report.cases, report.seconds) for report in reports]
    if evidence is not None and evidence.total:
        suites.append(Suite("changed lines", list(_reached(evidence)), 0.0))
    return junit_text("golden", suites)


def _reached(evidence: Evidence) -> Iterator[Case]:
    """Yield a case for each file that a change touches."""
    missed = list(missed_lines(evidence))
    for path in sorted({path for _, side in evidence.sides for path in side.changed}):
        message = headline(evidence) if evidence.problem else None
        lines = [told for where, told in missed if where == path]
        if message is None and lines:
            message = f"did not run: {listed(lines, _SHOWN)}"
        outcome: Outcome = "passed" if message is None else "skipped"
        yield Case(group="golden.reached", name=path, outcome=outcome, message=message)
