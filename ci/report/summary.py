"""Outcomes as Markdown, for the summary page of a job."""

from __future__ import annotations

from collections.abc import Sequence

from ci.report.words import headline, word
from ci.verdicts import Failed, Outcome
from golden.report.plain import code, visible

LIMIT = 1_000_000
"""Bytes; job summaries hold 1 MiB."""

_DETAIL = 400
_PLACES = 50


def as_markdown(outcomes: Sequence[Outcome], *, left_out: Sequence[str] = ()) -> str:
    """The verdict, a table of checks, and where each failed one found something."""
    lines = [f"# {headline(outcomes)}", "", "| check | verdict | time | detail |", "|---|---|---:|---|"]
    lines += [
        f"| {code(o.name)} | {word(o)} | {o.seconds:.1f} s | {code(visible(o.verdict.detail, _DETAIL))} |"
        for o in outcomes
    ]
    if left_out:
        lines += ["", f"Left out without a base: {', '.join(map(code, left_out))}."]
    for outcome in outcomes:
        if isinstance(outcome.verdict, Failed) and outcome.verdict.places:
            lines += ["", f"## {code(outcome.name)}", ""]
            for place in outcome.verdict.places[:_PLACES]:
                where = f"{place.path}:{place.line}" if place.line else place.path
                lines.append(f"- {code(where)}: {code(visible(place.message, _DETAIL))}")
            if len(outcome.verdict.places) > _PLACES:
                lines.append(f"- and {len(outcome.verdict.places) - _PLACES:,} more")
    text = "\n".join(lines) + "\n"
    return text if len(text.encode()) <= LIMIT else text.encode()[:LIMIT].decode(errors="ignore") + "\n"
