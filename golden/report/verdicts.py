"""The verdict on a run as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from golden.check.verify import Failed, Judged, NoGolden, Verdict
from golden.compare import Different, Identical, NotComparable
from golden.compare.outcome import Comparison
from golden.report.text import amounts, describe, render


def render_verdict(verdict: Verdict) -> str:
    """One line for a run that is as it was; the divergence, or the way out, for another."""
    match verdict:
        case Judged(run=run, comparison=Identical() as same):
            return render_comparison_line(run, same)
        case Judged(run=run, comparison=comparison):
            text = render(comparison, left="golden", right="this run")
            if isinstance(comparison, Different):
                text += f"\n  for the tensors: golden ab {run} --base REF, with REF the last good version"
            return f"{run}: {text}"
        case NoGolden(run=run):
            return f"{run}: {_no_golden(verdict)}"
        case Failed(run=run, message=message):
            return f"{run}: failed: {message}"


def _no_golden(verdict: NoGolden) -> str:
    known = f" (there is one for {', '.join(verdict.known)})" if verdict.known else ""
    wayout = (
        f"compare two versions here with `golden ab {verdict.run} --base REF`, or record one with "
        f"`golden record {verdict.run} --update`"
    )
    match verdict.common:
        case None:
            return f"no golden for this machine{known}; {wayout}"
        case Identical(compared=compared):
            same = (
                f"what holds everywhere is identical ({compared.events:,} events, {compared.steps:,} steps)"
            )
            return f"no golden for this machine{known}; {same}; {wayout}"
        case NotComparable(reason=reason):
            return f"no golden for this machine{known}; {reason}; {wayout}"
        case Different():
            text = render(verdict.common, left="what holds everywhere", right="this run")
            return f"no golden for this machine{known}; {text}"


def headline(found: Sequence[Comparison]) -> str:
    """The verdict over several comparisons in a few words; the worst one first."""
    counts = [
        (sum(isinstance(c, kind) for c in found), word)
        for kind, word in (
            (Different, "different"),
            (NotComparable, "not comparable"),
            (Identical, "identical"),
        )
    ]
    said = [(count, word) for count, word in counts if count]
    if len(found) == 1:
        return said[0][1]
    return ", ".join(f"{count} {word}" for count, word in said) + f" of {len(found)} runs"


def render_comparison_line(run: str, found: Comparison) -> str:
    """The verdict on a run in one line."""
    match found:
        case Identical(compared=compared):
            return f"{run}: identical ({amounts(compared)})"
        case NotComparable(reason=reason):
            return f"{run}: not comparable: {reason}"
        case Different(first=first):
            return f"{run}: different: {describe(first)[0]}"
