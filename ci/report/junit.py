"""Outcomes as JUnit XML: a test case per check."""

from __future__ import annotations

from xml.etree import ElementTree

from ci.report.told import Told
from ci.verdicts import CouldNotRun, Failed, Passed
from golden.report.plain import visible

_LONGEST = 1000


def as_junit(told: Told) -> str:
    """What failed is a failure, what could not run an error."""
    outcomes = told.outcomes
    root = ElementTree.Element("testsuites", name="gate")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name="gate",
        tests=str(len(outcomes)),
        failures=str(sum(isinstance(outcome.verdict, Failed) for outcome in outcomes)),
        errors=str(sum(isinstance(outcome.verdict, CouldNotRun) for outcome in outcomes)),
        skipped="0",
        time=f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    )
    for outcome in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname="gate", name=visible(outcome.name), time=f"{outcome.seconds:.3f}"
        )
        message = visible(outcome.verdict.detail, _LONGEST)
        match outcome.verdict:
            case Passed():
                pass
            case Failed(places=places):
                failure = ElementTree.SubElement(case, "failure", message=message)
                failure.text = "\n".join(
                    [
                        *(visible(f"{p.path}:{p.line or 1}: {p.message}", _LONGEST) for p in places),
                        *(f"see {visible(file, _LONGEST)}" for file in told.files(outcome)),
                    ]
                )
            case CouldNotRun():
                ElementTree.SubElement(case, "error", message=message)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
