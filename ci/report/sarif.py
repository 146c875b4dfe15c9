"""Outcomes as SARIF 2.1.0: a rule per check, a result per place where one found something."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import xxhash

from ci.verdicts import CouldNotRun, Failed, Outcome, Passed, Place

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WHOLE = "pyproject.toml"  # where a finding without a place is shown: the file that asks for the check


def as_sarif(outcomes: Sequence[Outcome], *, version: str) -> str:
    """One run of one tool. Fingerprints hold no line: a finding that moves in its file stays the same one."""
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
                    result for outcome in outcomes for result in _results(outcome, ids[outcome.name])
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


def _results(outcome: Outcome, rule: str) -> Iterator[dict[str, Any]]:
    match outcome.verdict:
        case Passed():
            return
        case Failed(places=(_, *_) as places):
            yield from (_result(rule, place) for place in places)
        case Failed(detail=detail) | CouldNotRun(detail=detail):
            yield _result(rule, Place(detail, _WHOLE))


def _result(rule: str, place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": place.path, "uriBaseId": "%SRCROOT%"}}
    if place.line is not None:
        location["region"] = {"startLine": place.line}
    digest = xxhash.xxh3_64_hexdigest(f"{rule}\0{place.path}\0{place.message}".encode())
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": place.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"gate/v1": digest},
    }
