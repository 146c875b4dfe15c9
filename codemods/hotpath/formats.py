"""Results for other programs: JSON and GitHub annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from codemods.hotpath.codes import CODES
from codemods.hotpath.compare import Comparison
from codemods.hotpath.results import Finding, Place
from codemods.hotpath.text import other_ways, told_once, way
from esper_harness.report.json import json_text


def states(comparison: Comparison) -> Iterator[tuple[Finding, str, str | None]]:
    """Every finding with its state (new, unchanged, accepted, allowed) and reason."""
    for finding in comparison.new:
        yield finding, "new", None
    for accepted in comparison.accepted:
        entry = accepted.entry
        if entry is None:
            yield accepted.finding, "unchanged", None
        else:
            yield accepted.finding, "accepted", entry.reason
    for allowed in comparison.allowed:
        yield allowed.finding, "allowed", allowed.reason


def fingerprints(comparison: Comparison) -> Iterator[tuple[Finding, str, str | None, str]]:
    """The same with a fingerprint that stays when code is moved; equal ones are counted."""
    seen: Counter[str] = Counter()
    for finding, state, reason in sorted(states(comparison), key=lambda item: item[0].order):
        digest = finding.operation.digest()
        seen[digest] += 1
        yield finding, state, reason, f"{digest}:{seen[digest]}"


def render_json(comparison: Comparison) -> str:
    """One object with every finding, also those that are accepted or allowed."""
    report = comparison.report
    document = {
        "version": 1,
        "files": report.files,
        "lines": report.lines,
        "loops": len(report.loops),
        "functions": report.functions,
        "calls_followed": report.followed,
        "calls_not_followed": dict(Counter(why for *_, why in report.unfollowed).most_common()),
        "not_followed": [
            {"path": place.path, "line": place.line, "text": text, "why": why}
            for place, text, why in report.unfollowed
        ],
        "less_hot": dict(report.hidden),
        "against": comparison.against,
        "findings": [_finding(*item) for item in fingerprints(comparison)],
        "gone": [_finding(finding, "gone", None, finding.operation.digest()) for finding in comparison.gone],
        "stale": [
            {
                "line": entry.line,
                **entry.operation._asdict(),
                "count": count,
                "reason": entry.reason,
            }
            for entry, count in comparison.stale
        ],
    }
    return json_text(document)


def _finding(finding: Finding, state: str, reason: str | None, fingerprint: str) -> dict[str, Any]:
    loop = finding.loop
    return {
        "code": finding.code,
        "name": CODES[finding.code].name,
        "message": finding.message,
        **_where(finding.place),
        "function": finding.function,
        "text": finding.text,
        "heat": finding.heat,
        "state": state,
        "reason": reason,
        "fingerprint": fingerprint,
        "loop": None
        if loop is None
        else {**_where(loop.place), "header": loop.header, "function": loop.function, "heat": loop.heat},
        "calls": [{**_where(step.place), "function": step.function} for step in finding.steps],
    }


def _where(place: Place) -> dict[str, Any]:
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def render_github(comparison: Comparison) -> Iterator[str]:
    """Workflow commands that annotate a pull request."""
    for finding, others in told_once(comparison.new):
        place = finding.place
        body = finding.message if finding.loop is None else f"{finding.message}\n{way(finding)}"
        body += f"\n{other_ways(others)}" if others else ""
        yield (
            f"::error title={_property(f'{finding.code} {CODES[finding.code].name}')},"
            f"file={_property(place.path)},line={place.line},endLine={place.end_line},col={place.column},endColumn={place.end_column}"
            f"::{_data(body)}"
        )
    for entry, _ in comparison.stale:
        body = f"stale baseline entry: {entry}; run with --update-baseline"
        path = _property(comparison.against or "")
        yield f"::error title=HP902 stale-baseline,file={path},line={entry.line}::{_data(body)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
