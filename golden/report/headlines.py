"""Verdicts in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from golden.compare.outcome import Comparison, Different, Identical, NotComparable
from golden.report.text import amounts, describe


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


def verdict_line(run: str, found: Comparison) -> str:
    """The verdict on a run in one line."""
    match found:
        case Identical(compared=compared):
            return f"{run}: identical ({amounts(compared)})"
        case NotComparable(reason=reason):
            return f"{run}: not comparable: {reason}"
        case Different(first=first):
            return f"{run}: different: {describe(first)[0]}"
