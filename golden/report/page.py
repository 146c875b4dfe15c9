"""Comparisons as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from esper_harness.report.plain import visible
from golden.check.results import Result
from golden.compare.outcome import NotComparable
from golden.reach.evidence import Evidence
from golden.reach.tell import tell
from golden.report.build import RunReport, headline
from golden.report.text import amount_parts, describe, gaps, placed, tolerance_lines
from golden.trace.errors import ExitCode

_RESTS = 60


def render_page(reports: Sequence[RunReport | Result], evidence: Evidence | None = None) -> str:
    """Write the page, with the diff coverage; equal traces give equal bytes. All text is escaped."""
    verdicts = [report.code for report in reports]
    return _template().render(
        title=", ".join(dict.fromkeys(report.name for report in reports)),
        headline=headline(reports),
        look=_look(verdicts),
        runs=[_section(report, f"run-{number}") for number, report in enumerate(reports)],
        reached=tell(evidence) if evidence is not None and evidence.total else [],
    )


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("golden.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    return environment.get_template("page.html.jinja")


def _finalize(value: Any) -> Any:
    """Make what comes from a trace or a program visible; autoescape makes it harmless."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _look(verdicts: Sequence[ExitCode]) -> str:
    if ExitCode.DIFFERENT in verdicts:
        return "different"
    return "identical" if set(verdicts) == {ExitCode.IDENTICAL} else "unknown"


def _section(report: RunReport | Result, anchor: str) -> dict[str, Any]:
    head = {
        "anchor": anchor,
        "name": report.name,
        "verdict": headline([report]),
        "look": _look([report.code]),
        "told": report.text.splitlines() if isinstance(report, Result) else [],
    }
    if isinstance(report, Result):
        return head
    found = report.comparison
    compared = None if isinstance(found, NotComparable) else found.compared
    first, *details = placed(describe(report.divergences[0]), found) if report.divergences else [""]
    rest = placed([describe(each)[0] for each in report.divergences[1:]], found)
    return {
        **head,
        "reason": found.reason if isinstance(found, NotComparable) else "",
        "compared": [] if compared is None else [part.split(" ", 1) for part in amount_parts(compared)],
        "tolerated": [] if isinstance(found, NotComparable) else tolerance_lines(found.tolerated),
        "gaps": [] if compared is None else gaps(compared),
        "first": first,
        "details": details,
        "closely": report.closely,
        "rest": rest[:_RESTS],
        "rest_left_out": max(0, len(rest) - _RESTS),
        "sides": _sides(report),
    }


def _sides(report: RunReport) -> list[tuple[str, str, str]]:
    a, b = report.left.about, report.right.about
    rows = [
        ("trace", report.left_title, report.right_title),
        ("label", a.label, b.label),
        ("command", " ".join(a.argv), " ".join(b.argv)),
        ("seed", str(a.seed), str(b.seed)),
        ("processes", str(len(a.processes)), str(len(b.processes))),
        # Never compared: one run each is no benchmark.
        ("seconds", f"{a.seconds:.3g}", f"{b.seconds:.3g}"),
    ]
    names = dict.fromkeys([*a.fingerprint, *b.fingerprint])
    return [*rows, *((n, a.fingerprint.get(n, "unknown"), b.fingerprint.get(n, "unknown")) for n in names)]
