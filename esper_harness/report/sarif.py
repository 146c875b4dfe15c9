"""Findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from esper_harness.report.findings import Finding, Location, Rule, Tool
from esper_harness.report.json import json_text

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOME = "https://pypi.org/project/esper-harness/"
_ROOT = "%SRCROOT%"


def sarif_text(tool: Tool, findings: Iterable[Finding]) -> str:
    """Write one run of a tool."""
    index = {rule.id: number for number, rule in enumerate(tool.rules)}
    run = {
        "tool": {
            "driver": {
                "name": tool.name,
                "version": tool.version,
                "informationUri": _HOME,
                "rules": [_rule(rule) for rule in tool.rules],
            }
        },
        "invocations": [{"executionSuccessful": tool.complete}],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the root of the repository"}}},
        "results": [_result(finding, index[finding.rule]) for finding in findings],
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    found: dict[str, Any] = {"id": rule.id}
    if rule.name is not None:
        found["name"] = rule.name
    found["shortDescription"] = {"text": rule.text}
    if rule.why is not None:
        found["fullDescription"] = {"text": rule.why}
    if rule.help is not None:
        found["help"] = {"text": rule.help}
    if rule.enabled is not None:
        found["defaultConfiguration"] = {"enabled": rule.enabled, "level": "error"}
    return found


def _result(finding: Finding, index: int) -> dict[str, Any]:
    scheme, digest = finding.fingerprint
    found: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [_location(finding.location)],
        "partialFingerprints": {scheme: digest},
    }
    if finding.path:
        stops = [
            {"location": {**_location(place), "message": {"text": text}}, "nestingLevel": level}
            for level, (place, text) in enumerate(finding.path)
        ]
        found["codeFlows"] = [{"threadFlows": [{"locations": stops}]}]
    if finding.suppression is not None:
        reason = finding.suppression.justification
        found["suppressions"] = [{"kind": finding.suppression.kind, "justification": reason}]
    if finding.state is not None:
        found["baselineState"] = finding.state
    return found


def _location(place: Location) -> dict[str, Any]:
    parts = (
        ("startLine", place.line),
        ("startColumn", place.column),
        ("endLine", place.end_line),
        ("endColumn", place.end_column),
    )
    # A result without a region is shown by no forge.
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.path), "uriBaseId": _ROOT},
            "region": {key: value for key, value in parts if value is not None},
        }
    }
