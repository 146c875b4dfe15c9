"""Outcomes as findings: a rule per check, a finding per place where one found something."""

from __future__ import annotations

from collections.abc import Iterator

import xxhash

from ci.report.told import Told
from ci.verdicts import CouldNotRun, Failed, Outcome, Passed, Place
from esper_harness.report.findings import Finding, Location, Rule, Tool
from esper_harness.report.sarif import sarif_text

_WHOLE = "pyproject.toml"  # where a finding without a place is shown: the file that asks for the check


def as_sarif(told: Told, *, version: str) -> str:
    """Write one run. Fingerprints hold no line: a finding that moves in its file stays the same one."""
    outcomes = told.outcomes
    names = dict.fromkeys(outcome.name for outcome in outcomes)
    rules = [Rule(id=_rule(name), name=name, text=f"The check {name} passes.") for name in names]
    complete = not any(isinstance(outcome.verdict, CouldNotRun) for outcome in outcomes)
    tool = Tool(name="golden-gate", version=version, rules=rules, complete=complete)
    return sarif_text(tool, (finding for outcome in outcomes for finding in _findings(outcome, told.prefix)))


def _rule(name: str) -> str:
    return "gate/" + "-".join(name.split())


def _findings(outcome: Outcome, prefix: str) -> Iterator[Finding]:
    rule = _rule(outcome.name)
    match outcome.verdict:
        case Passed():
            return
        case Failed(places=(_, *_) as places):
            yield from (_finding(rule, place, prefix) for place in places)
        case Failed(detail=detail) | CouldNotRun(detail=detail):
            yield _finding(rule, Place(detail, _WHOLE), prefix)


def _finding(rule: str, place: Place, prefix: str) -> Finding:
    digest = xxhash.xxh3_64_hexdigest(f"{rule}\0{place.path}\0{place.message}".encode())
    # What is true of a whole file stands at its first line.
    location = Location(prefix + place.path, place.line or 1)
    return Finding(rule=rule, message=place.message, location=location, fingerprint=("gate/v1", digest))
