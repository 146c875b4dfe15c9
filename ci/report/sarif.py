"""Outcomes as SARIF 2.1.0: a rule per check, a result per place where one found something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import xxhash

from ci.report.told import Told
from ci.verdicts import CouldNotRun, Failed, Outcome, Passed, Place

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WHOLE = "pyproject.toml"  # where a finding without a place is shown: the file that asks for the check


def as_sarif(told: Told, *, version: str) -> str:
    """One run of one tool. Fingerprints hold no line: a finding that moves in its file stays the same one."""
    outcomes, prefix = told.outcomes, told.prefix
    ids = {outcome.name: _rule(outcome.name) for outcome in outcomes}
    rules = [
        {"id": ids[name], "name": name, "shortDescription": {"text": f"The check {name} passes."}}
        for name in ids
    ]
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "golden-gate", "version": version, "rules": rules}},
                "results": [
                    result for outcome in outcomes for result in _results(outcome, ids[outcome.name], prefix)
                ],
                "invocations": [
                    {"executionSuccessful": not any(isinstance(o.verdict, CouldNotRun) for o in outcomes)}
                ],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _rule(name: str) -> str:
    return "gate/" + "-".join(name.split())


def _results(outcome: Outcome, rule: str, prefix: str) -> Iterator[dict[str, Any]]:
    match outcome.verdict:
        case Passed():
            return
        case Failed(places=(_, *_) as places):
            yield from (_result(rule, place, prefix) for place in places)
        case Failed(detail=detail) | CouldNotRun(detail=detail):
            yield _result(rule, Place(detail, _WHOLE), prefix)


def _result(rule: str, place: Place, prefix: str) -> dict[str, Any]:
    # A result without a region is shown by no forge: what is true of a whole file stands at its first line.
    location: dict[str, Any] = {
        "artifactLocation": {"uri": quote(prefix + place.path), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": place.line or 1},
    }
    digest = xxhash.xxh3_64_hexdigest(f"{rule}\0{place.path}\0{place.message}".encode())
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": place.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"gate/v1": digest},
    }
