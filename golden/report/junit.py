"""Comparisons as JUnit XML: one test suite per run, one test case per kind of thing compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esper_harness.report.findings import Case, Outcome, Suite
from esper_harness.report.junit import junit_text
from golden.compare.outcome import (
    CallChange,
    EventChange,
    FinalState,
    LivingState,
    NotComparable,
    OutputChange,
    ProcessCount,
    RandomState,
    ReadCount,
    ReadValue,
    Rows,
    StepCount,
    StepOrder,
)
from golden.reach.evidence import Evidence
from golden.reach.tell import headline, missed_lines
from golden.report.build import RunReport, Told
from golden.report.headlines import told_line
from golden.report.lanes import Lane
from golden.report.text import KIND_TITLES, describe, gaps, placed, render
from golden.trace.errors import ExitCode
from golden.trace.trace import KINDS

_SHOWN = 20
_STEP_KINDS = ("buffers", "loss", "grads", "settings", "params", "state")
_CASES = (
    "events",
    "steps",
    *(KIND_TITLES[kind] for kind in _STEP_KINDS),
    "random state",
    "final state",
    "host reads",
    "values of host reads",
    "output",
    "modules and own generators",
    "calls of other ranks",
)


def render_junit(reports: Sequence[RunReport | Told], evidence: Evidence | None = None) -> str:
    """Write runs: what differs fails, what could not be judged is an error, what no side has is skipped.

    A file of a change counts as skipped while not all its lines ran: nothing judged them.
    """
    suites = [_suite(report) for report in reports]
    if evidence is not None and evidence.total:
        suites.append(Suite("changed lines", list(_reached(evidence)), 0.0))
    return junit_text("golden", suites)


def _suite(report: RunReport | Told) -> Suite:
    seconds = report.seconds if isinstance(report, Told) else report.right.about.seconds
    return Suite(report.name, list(_cases(report, f"golden.{report.name}")), seconds)


def _cases(report: RunReport | Told, group: str) -> Iterator[Case]:
    if isinstance(report, Told):
        if report.code == ExitCode.IDENTICAL:
            yield Case(group=group, name="verdict")
        else:
            lines = report.text.splitlines()
            outcome: Outcome = "failure" if report.code == ExitCode.DIFFERENT else "error"
            yield Case(group=group, name="verdict", outcome=outcome, message=told_line(report), lines=lines)
        return
    if isinstance(report.comparison, NotComparable):
        yield Case(group=group, name="comparable", outcome="error", message=render(report.comparison))
        return
    failures, present = _failures(report), _present(report)
    for title in _CASES:
        lines = failures.get(title, [])
        if lines:
            more = [f"and {len(lines) - _SHOWN:,} more"] if len(lines) > _SHOWN else []
            shown = [*lines[:_SHOWN], *more]
            yield Case(group=group, name=title, outcome="failure", message=lines[0], lines=shown)
        elif title not in present:
            yield Case(group=group, name=title, outcome="skipped", message="neither side has any")
        else:
            yield Case(group=group, name=title)
    for line in gaps(report.comparison.compared):
        why, _, what = line.partition(": ")
        yield Case(group=group, name=why, outcome="skipped", message=what)


def _reached(evidence: Evidence) -> Iterator[Case]:
    """A case for each file that a change touches."""
    missed = list(missed_lines(evidence))
    for path in sorted({path for _, side in evidence.sides for path in side.changed}):
        message = headline(evidence) if evidence.problem else None
        lines = [told for where, told in missed if where == path]
        if message is None and lines:
            more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
            message = f"did not run: {', '.join(lines[:_SHOWN])}{more}"
        outcome: Outcome = "passed" if message is None else "skipped"
        yield Case(group="golden.reached", name=path, outcome=outcome, message=message)


def _failures(report: RunReport) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for divergence in report.divergences:
        match divergence:
            case EventChange():
                title = "events"
            case ReadCount():
                title = "host reads"
            case StepCount() | StepOrder() | ProcessCount():
                title = "steps"
            case RandomState():
                title = "random state"
            case FinalState():
                title = "final state"
            case Rows(part=part):
                title = part
            case OutputChange():
                title = "output"
            case ReadValue():
                title = "values of host reads"
            case LivingState():
                title = "modules and own generators"
            case CallChange():
                title = "calls of other ranks"
            case _:
                continue  # the steps themselves tell of every kind, not of the first step's only
        found.setdefault(title, []).append(describe(divergence)[0])
    for lane in report.lanes:
        for kind in _STEP_KINDS:
            line = _lane_failure(lane, kind)
            if line:
                found.setdefault(KIND_TITLES[kind], []).append(line)
    return {title: placed(lines, report.comparison) for title, lines in found.items()}


def _lane_failure(lane: Lane, kind: str) -> str | None:
    steps = [index for index, pair in enumerate(lane.pairs) if kind in pair.kinds]
    if not steps:
        return None
    return (
        f"{KIND_TITLES[kind]} of {lane.stream.title} differs first at step {steps[0]}, "
        f"in {len(steps):,} of {len(lane.pairs):,} steps"
    )


def _present(report: RunReport) -> set[str]:
    sides = (report.left, report.right)
    found: set[str] = set()
    if any(side.events for side in sides):
        found.add("events")
    for process in (process for side in sides for process in side.processes):
        found.update(KIND_TITLES[k] for step in process.steps for k in KINDS if step.digests[k])
        found.update(KIND_TITLES["loss"] for step in process.steps if step.losses)
        if process.steps:
            found |= {"steps", KIND_TITLES["settings"]}
        if process.rng or any(step.rng for step in process.steps):
            found.add("random state")
        if process.reads or any(step.reads for step in process.steps):
            found.add("host reads")
        if process.final_files:
            found.add("final state")
        if process.looks:
            found.add("modules and own generators")
        if process.values or any(step.values for step in process.steps):
            found.add("values of host reads")
        if process.calls or any(step.calls for step in process.steps):
            found.add("calls of other ranks")
    if any(output.rows for side in sides for output in side.outputs or ()):
        found.add("output")
    return found
