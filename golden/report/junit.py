"""Comparisons as JUnit XML: a suite per run, a case per kind of thing that differs or was not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from esper_harness.report.findings import Case, Outcome, Suite
from esper_harness.report.junit import junit_text
from esper_harness.report.plain import listed
from golden.check.results import Result
from golden.compare.outcome import NotComparable
from golden.reach.evidence import Evidence
from golden.reach.tell import headline, missed_lines
from golden.report.build import RunReport, told_line
from golden.report.text import describe, gaps, placed, render
from golden.trace.errors import ExitCode

_SHOWN = 20
_OUTCOMES: Mapping[ExitCode, Outcome] = {ExitCode.IDENTICAL: "passed", ExitCode.DIFFERENT: "failure"}


def render_junit(reports: Sequence[RunReport | Result], evidence: Evidence | None = None) -> str:
    """Write runs: what differs fails, what could not be judged is an error, what was not compared is skipped.

    A file of a change counts as skipped while not all its lines ran: nothing judged them.
    """
    suites = [_suite(report) for report in reports]
    if evidence is not None and evidence.total:
        suites.append(Suite("changed lines", list(_reached(evidence)), 0.0))
    return junit_text("golden", suites)


def _suite(report: RunReport | Result) -> Suite:
    seconds = report.seconds if isinstance(report, Result) else report.right.about.seconds
    return Suite(report.name, list(_cases(report, f"golden.{report.name}")), seconds)


def _cases(report: RunReport | Result, group: str) -> Iterator[Case]:
    if isinstance(report, Result) or not report.divergences:
        outcome = _OUTCOMES.get(report.code, "error")
        text = report.text if isinstance(report, Result) else render(report.comparison)
        message = None if outcome == "passed" else told_line(report)
        yield Case(group=group, name="verdict", outcome=outcome, message=message, lines=text.splitlines())
    if isinstance(report, Result) or isinstance(report.comparison, NotComparable):
        return
    failures: dict[str, list[str]] = {}
    for divergence in report.divergences:
        failures.setdefault(divergence.kind, []).append(describe(divergence)[0])
    for title, heads in failures.items():
        lines = placed(heads, report.comparison)
        more = [f"and {len(lines) - _SHOWN:,} more"] if len(lines) > _SHOWN else []
        shown = [*lines[:_SHOWN], *more]
        yield Case(group=group, name=title, outcome="failure", message=lines[0], lines=shown)
    for line in gaps(report.comparison.compared):
        why, _, what = line.partition(": ")
        yield Case(group=group, name=why, outcome="skipped", message=what)


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
