"""Outcomes as test cases, one a check."""

from __future__ import annotations

from ci.report.told import Told
from ci.verdicts import CouldNotRun, Failed, Outcome
from esper_harness.report.findings import Case, Suite
from esper_harness.report.junit import junit_text


def as_junit(told: Told) -> str:
    """Write what failed as a failure, what could not run as an error."""
    seconds = sum(outcome.seconds for outcome in told.outcomes)
    return junit_text("gate", [Suite("gate", [_case(told, outcome) for outcome in told.outcomes], seconds)])


def _case(told: Told, outcome: Outcome) -> Case:
    verdict = outcome.verdict
    lines: list[str] = []
    if isinstance(verdict, Failed):
        lines += [f"{place.path}:{place.line or 1}: {place.message}" for place in verdict.places]
        lines += [f"see {file}" for file in told.files(outcome)]
    passed = not isinstance(verdict, (Failed, CouldNotRun))
    return Case(
        group="gate",
        name=outcome.name,
        outcome="passed" if passed else "failure" if isinstance(verdict, Failed) else "error",
        message=verdict.detail,
        lines=lines,
        seconds=outcome.seconds,
    )
