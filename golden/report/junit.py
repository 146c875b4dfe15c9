"""Comparisons as JUnit XML: one test suite per run, one test case per kind of thing compared."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

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
from golden.report.plain import visible
from golden.report.text import KIND_TITLES, describe, placed, render
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
    """What differs fails, what could not be judged is an error, what no side has is skipped.

    A file of a change counts as skipped while not all its lines ran: nothing judged them.
    """
    root = ElementTree.Element("testsuites", name="golden")
    for report in reports:
        _suite(root, report)
    if evidence is not None and evidence.total:
        _reached(root, evidence)
    suites = list(root)
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, report: RunReport | Told) -> None:
    name = visible(report.name)
    seconds = report.seconds if isinstance(report, Told) else report.right.about.seconds
    suite = ElementTree.SubElement(root, "testsuite", name=name, time=f"{seconds:.3f}")
    if isinstance(report, Told):
        case = ElementTree.SubElement(suite, "testcase", classname=f"golden.{name}", name="verdict")
        if report.code != ExitCode.IDENTICAL:
            tag = "failure" if report.code == ExitCode.DIFFERENT else "error"
            found = ElementTree.SubElement(case, tag, message=visible(told_line(report), 1000))
            found.text = "\n".join(visible(line) for line in report.text.splitlines())
    elif isinstance(report.comparison, NotComparable):
        case = ElementTree.SubElement(suite, "testcase", classname=f"golden.{name}", name="comparable")
        ElementTree.SubElement(case, "error", message=visible(render(report.comparison), 1000))
    else:
        failures = _failures(report)
        present = _present(report)
        for title in _CASES:
            case = ElementTree.SubElement(suite, "testcase", classname=f"golden.{name}", name=title)
            lines = failures.get(title, [])
            if lines:
                failure = ElementTree.SubElement(case, "failure", message=visible(lines[0]))
                more = [f"and {len(lines) - _SHOWN:,} more"] if len(lines) > _SHOWN else []
                failure.text = "\n".join([*map(visible, lines[:_SHOWN]), *more])
            elif title not in present:
                ElementTree.SubElement(case, "skipped", message="neither side has any")
    _count(suite)


def _reached(root: ElementTree.Element, evidence: Evidence) -> None:
    """A case for each file that a change touches."""
    suite = ElementTree.SubElement(root, "testsuite", name="changed lines", time="0.000")
    missed = list(missed_lines(evidence))
    for path in sorted({path for _, side in evidence.sides for path in side.changed}):
        case = ElementTree.SubElement(suite, "testcase", classname="golden.reached", name=visible(path))
        if evidence.problem:
            ElementTree.SubElement(case, "skipped", message=visible(headline(evidence), 1000))
        elif lines := [told for where, told in missed if where == path]:
            more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
            message = f"did not run: {', '.join(lines[:_SHOWN])}{more}"
            ElementTree.SubElement(case, "skipped", message=message)
    _count(suite)


def _count(suite: ElementTree.Element) -> None:
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


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
