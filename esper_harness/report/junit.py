"""Cases as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from esper_harness.report.findings import Case, Suite
from esper_harness.report.plain import visible

_LONGEST = 1000
_COUNTED = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def junit_text(name: str, suites: Sequence[Suite]) -> str:
    """Write suites with their counts; what XML can't hold is spelled out."""
    root = ElementTree.Element("testsuites", name=name)
    for suite in suites:
        element = ElementTree.SubElement(root, "testsuite", name=visible(suite.name))
        _count(element, suite.cases)
        if suite.seconds is not None:
            element.set("time", f"{suite.seconds:.3f}")
        for case in suite.cases:
            _case(element, case)
    _count(root, [case for suite in suites for case in suite.cases])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _count(element: ElementTree.Element, cases: Sequence[Case]) -> None:
    element.set("tests", str(len(cases)))
    for key, outcome in _COUNTED:
        element.set(key, str(sum(case.outcome == outcome for case in cases)))


def _case(suite: ElementTree.Element, case: Case) -> None:
    element = ElementTree.SubElement(
        suite, "testcase", classname=visible(case.group), name=visible(case.name)
    )
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if case.outcome == "passed":
        return
    found = ElementTree.SubElement(element, case.outcome)
    if case.kind is not None:
        found.set("type", visible(case.kind))
    if case.message is not None:
        found.set("message", visible(case.message, _LONGEST))
    if case.lines:
        found.text = "\n".join(visible(line, _LONGEST) for line in case.lines)
