"""Host reads as a table in plain text."""

from __future__ import annotations

from collections.abc import Sequence

from esper_harness.report.plain import visible
from golden.trace.reads import SiteReads


def render_reads(found: Sequence[SiteReads]) -> str:
    """One line per place: all reads, steps before which it reads, the most before one step."""
    if not found:
        return (
            "no host reads: the program asked for none, or `syncs = false` in [observe] leaves them uncounted"
        )
    several = len({r.process for r in found}) > 1
    lines = [f"{'count':>8} {'steps':>7} {'most':>5}  place"]
    for reads in found:
        process = f"{reads.process}: " if several else ""
        place = visible(f"{process}{reads.site.title}")
        lines.append(f"{reads.count:8,} {reads.steps:7,} {reads.most_per_step:5,}  {place}")
    return "\n".join(lines)
