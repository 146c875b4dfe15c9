"""Comparisons as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from esper_harness.report.plain import visible
from golden.reach.evidence import Evidence
from golden.reach.tell import tell
from golden.report.build import Report, headline
from golden.trace.errors import ExitCode


def render_page(reports: Sequence[Report], evidence: Evidence | None = None) -> str:
    """Write the page, with the diff coverage; equal traces give equal bytes. All text is escaped."""
    verdicts = [report.code for report in reports]
    return _template().render(
        title=", ".join(dict.fromkeys(report.name for report in reports)),
        headline=headline(reports),
        look=_look(verdicts),
        runs=[(f"run-{number}", _look([report.code]), report) for number, report in enumerate(reports)],
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
