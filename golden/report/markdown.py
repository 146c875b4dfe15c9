"""Comparisons as a Markdown summary, for a pull request's comment or a job's summary page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from esper_harness.report.markdown import code, fenced, table
from golden.reach.evidence import Evidence
from golden.reach.tell import tell
from golden.report.build import Report, headline

LIMIT = 1_000_000
_CLOSING = 100  # bytes for the line that counts what is left out


def render_markdown(
    reports: Sequence[Report], evidence: Evidence | None = None, *, limit: int = LIMIT
) -> str:
    """Return the verdict, what of a change ran, a table of runs and each run's findings.

    Never above ``limit`` bytes of UTF-8.
    """
    head = [f"# golden: {headline(reports)}", "", *([*fenced(tell(evidence)), ""] if evidence else ())]
    rows = table(("run", "verdict"), ((code(r.name), r.word) for r in reports))
    # A run's section is worth more than its row: rows may take a quarter.
    shown, left = _within(rows, limit // 4, len(reports) + 2)
    lines = [*head, *shown, *([f"\n{left:,} more runs are not listed."] if left else []), ""]
    text = "\n".join(lines)
    sections, left = _within(map(_section, reports), limit - len(text.encode()) - _CLOSING, len(reports))
    if left:
        sections.append(f"{left:,} of {len(reports):,} runs are left out here to keep this text short.\n")
    return "\n".join([text, *sections])


def _within(parts: Iterable[str], limit: int, count: int) -> tuple[list[str], int]:
    """Return as many of ``count`` parts as fit, and how many don't."""
    kept: list[str] = []
    for part in parts:
        limit -= len(part.encode()) + 1
        if limit < 0:
            break
        kept.append(part)
    return kept, count - len(kept)


def _section(report: Report) -> str:
    return "\n".join([f"## {code(report.name)}", "", *fenced(report.text.splitlines()), ""])
