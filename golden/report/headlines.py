"""Verdicts in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from golden.compare.outcome import Comparison, Different, Identical, NotComparable
from golden.report.build import RunReport, Told
from golden.report.text import amounts, describe
from golden.trace.errors import ExitCode

_WORDS = {
    ExitCode.DIFFERENT: "different",
    ExitCode.RUN_FAILED: "failed",
    ExitCode.UNUSABLE: "failed",
    ExitCode.NOTHING_COMPARABLE: "not comparable",
    ExitCode.IDENTICAL: "identical",
}


def headline(codes: Sequence[ExitCode]) -> str:
    """The verdict over several runs in a few words; the worst one first."""
    words = [_WORDS[code] for code in codes]
    counts = {word: words.count(word) for word in dict.fromkeys(_WORDS.values()) if word in words}
    if len(codes) == 1:
        return words[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items()) + f" of {len(codes)} runs"


def told_line(report: RunReport | Told) -> str:
    """The verdict on a run in one line."""
    if isinstance(report, Told):
        first, _, rest = report.text.partition("\n")
        return first + (f"; {rest.partition(chr(10))[0]}" if rest else "")
    return verdict_line(report.name, report.comparison)


def verdict_line(run: str, found: Comparison) -> str:
    """A comparison in one line."""
    match found:
        case Identical(compared=compared):
            return f"{run}: identical ({amounts(compared)})"
        case NotComparable(reason=reason):
            return f"{run}: not comparable: {reason}"
        case Different(first=divergence):
            return f"{run}: different: {describe(divergence)[0]}"
