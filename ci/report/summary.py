"""Outcomes as Markdown, for the summary page of a job."""

from __future__ import annotations

from urllib.parse import quote

from ci.report.told import Told
from ci.report.words import headline, word
from ci.verdicts import Failed
from esper_harness.report.markdown import code, table
from esper_harness.report.plain import visible

LIMIT = 1_000_000
"""Bytes; job summaries hold 1 MiB."""

_DETAIL = 400
_PLACES = 50


def as_markdown(told: Told) -> str:
    """The verdict, a table of checks, where each failed one found something, and what shows it."""
    outcomes = told.outcomes
    rows = [
        (code(o.name), word(o), f"{o.seconds:.1f} s", code(visible(o.verdict.detail, _DETAIL)))
        for o in outcomes
    ]
    lines = [f"# {headline(outcomes)}", "", *table(("check", "verdict", "time", "detail"), rows, [2])]
    if told.left_out:
        lines += ["", f"Left out without a base: {', '.join(map(code, told.left_out))}."]
    if told.compared:
        lines += ["", visible(told.compared[:1].upper() + told.compared[1:], _DETAIL) + "."]
    for outcome in outcomes:
        if isinstance(outcome.verdict, Failed) and outcome.verdict.places:
            lines += ["", f"## {code(outcome.name)}", ""]
            for place in outcome.verdict.places[:_PLACES]:
                where = f"{place.path}:{place.line}" if place.line else place.path
                lines.append(f"- {code(where)}: {code(visible(place.message, _DETAIL))}")
            if len(outcome.verdict.places) > _PLACES:
                lines.append(f"- and {len(outcome.verdict.places) - _PLACES:,} more")
        if files := told.files(outcome):
            links = ", ".join(f"[{code(file)}](<{quote(file)}>)" for file in files)
            lines += ["", f"Evidence: {links}"]
    text = "\n".join(lines) + "\n"
    return text if len(text.encode()) <= LIMIT else text.encode()[:LIMIT].decode(errors="ignore") + "\n"
