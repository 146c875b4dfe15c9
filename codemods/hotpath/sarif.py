"""Results as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from codemods.hotpath.codes import CODES
from codemods.hotpath.compare import Comparison
from codemods.hotpath.formats import fingerprints
from codemods.hotpath.results import Finding, Place

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "PROJECTROOT"


def render_sarif(comparison: Comparison) -> str:
    """One run with every finding: new, unchanged, gone, and those that are suppressed with a reason."""
    compared = comparison.against is not None
    results = [
        _result(finding, state, reason, owner, fingerprint, compared)
        for finding, state, reason, owner, fingerprint in fingerprints(comparison)
    ]
    results += [
        _result(finding, "absent", None, None, f"{finding.operation.digest()}:0", True)
        for finding in comparison.gone
    ]
    results += [_stale(comparison, index) for index in range(len(comparison.stale))]
    run = {
        "tool": {
            "driver": {
                "name": "hotpath",
                "version": version("esper-harness"),
                "informationUri": "https://pypi.org/project/esper-harness/",
                "rules": [_rule(code) for code in CODES],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the root of the repository"}}},
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    item = CODES[code]
    return {
        "id": item.code,
        "name": item.name,
        "shortDescription": {"text": item.title},
        "fullDescription": {"text": item.why},
        "help": {"text": f"{item.why} {item.ways_out}"},
        "defaultConfiguration": {"enabled": item.default, "level": "error"},
    }


def _result(
    finding: Finding, state: str, reason: str | None, owner: str | None, fingerprint: str, compared: bool
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": list(CODES).index(finding.code),
        "level": "error",
        "message": {"text": f"{finding.message}: {finding.text}"},
        "locations": [_location(finding.place)],
        "partialFingerprints": {"hotpath/v2": fingerprint},
    }
    if finding.loop is not None:
        result["codeFlows"] = [{"threadFlows": [{"locations": list(_flow(finding))}]}]
    if state == "allowed":
        result["suppressions"] = [{"kind": "inSource", "justification": reason}]
    elif state == "accepted":
        result["suppressions"] = [{"kind": "external", "justification": f"{reason} (owner: {owner})"}]
    if compared:
        known = state in ("accepted", "unchanged", "allowed")
        result["baselineState"] = "unchanged" if known else state
    return result


def _flow(finding: Finding) -> list[dict[str, Any]]:
    """The loop, the calls, the stall."""
    assert finding.loop is not None
    stops = [(finding.loop.place, f"loop: {finding.loop.header}")]
    stops += [(step.place, f"calls {step.function}") for step in finding.steps]
    stops.append((finding.place, finding.text))
    return [
        {"location": {**_location(place), "message": {"text": text}}, "nestingLevel": level}
        for level, (place, text) in enumerate(stops)
    ]


def _stale(comparison: Comparison, index: int) -> dict[str, Any]:
    entry, count = comparison.stale[index]
    path = comparison.against or ""
    return {
        "ruleId": "HP902",
        "ruleIndex": list(CODES).index("HP902"),
        "level": "error",
        "message": {"text": f"stale baseline entry ({count}): {entry}"},
        "locations": [_location(Place(path, entry.line, 1, entry.line, 1))],
        "partialFingerprints": {"hotpath/v2": f"stale-{entry.operation.digest()}:1"},
        "baselineState": "new",
    }


def _location(place: Place) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.path), "uriBaseId": _ROOT},
            "region": {
                "startLine": place.line,
                "startColumn": place.column,
                "endLine": place.end_line,
                "endColumn": place.end_column,
            },
        }
    }
