"""A comparison as findings, for code scanning."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

from codemods.hotpath.codes import CODES
from codemods.hotpath.compare import Comparison
from codemods.hotpath.formats import fingerprints
from codemods.hotpath.results import Finding as Found
from codemods.hotpath.results import Place
from esper_harness.report.findings import Finding, Location, Rule, Suppression, Tool
from esper_harness.report.sarif import sarif_text

_SCHEME = "hotpath/v2"


def render_sarif(comparison: Comparison) -> str:
    """Write every finding: new, unchanged, gone, and those that are suppressed with a reason."""
    rules = [
        Rule(
            id=code.code,
            name=code.name,
            text=code.title,
            why=code.why,
            help=f"{code.why} {code.ways_out}",
            enabled=code.default,
        )
        for code in CODES.values()
    ]
    compared = comparison.against is not None
    findings = [
        _finding(found, state, reason, fingerprint, compared)
        for found, state, reason, fingerprint in fingerprints(comparison)
    ]
    findings += [
        _finding(found, "absent", None, f"{found.operation.digest()}:0", True) for found in comparison.gone
    ]
    for entry, count in comparison.stale:
        findings.append(
            Finding(
                rule="HP902",
                message=f"stale baseline entry ({count}): {entry}",
                location=Location(comparison.against or "", entry.line),
                fingerprint=(_SCHEME, f"stale-{entry.operation.digest()}:1"),
                state="new",
            )
        )
    return sarif_text(Tool(name="hotpath", version=version("esper-harness"), rules=rules), findings)


def _finding(found: Found, state: str, reason: str | None, fingerprint: str, compared: bool) -> Finding:
    suppression = None
    if state == "allowed":
        suppression = Suppression("inSource", reason)
    elif state == "accepted":
        suppression = Suppression("external", reason)
    known: Literal["new", "unchanged", "absent"] = "unchanged"
    if state in ("new", "absent"):
        known = "new" if state == "new" else "absent"
    return Finding(
        rule=found.code,
        message=f"{found.message}: {found.text}",
        location=_location(found.place),
        fingerprint=(_SCHEME, fingerprint),
        path=_path(found),
        suppression=suppression,
        state=known if compared else None,
    )


def _path(found: Found) -> list[tuple[Location, str]]:
    """The loop, the calls, the stall."""
    if found.loop is None:
        return []
    stops = [(found.loop.place, f"loop: {found.loop.header}")]
    stops += [(step.place, f"calls {step.function}") for step in found.steps]
    stops.append((found.place, found.text))
    return [(_location(place), text) for place, text in stops]


def _location(place: Place) -> Location:
    return Location(place.path, place.line, place.end_line, place.column, place.end_column)
