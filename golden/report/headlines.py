"""Verdicts in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from golden.check.results import Result
from golden.compare.outcome import Comparison, Different, Identical, NotComparable
from golden.report.build import RunReport
from golden.report.text import WITHIN_TOLERANCE, describe, equal_lines, placed, verdict_word
from golden.trace.errors import ExitCode

_WORDS = {
    ExitCode.DIFFERENT: "different",
    ExitCode.RUN_FAILED: "failed",
    ExitCode.UNUSABLE: "failed",
    ExitCode.NOTHING_COMPARABLE: "not comparable",
    ExitCode.IDENTICAL: "identical",
}


def headline(reports: Sequence[RunReport | Result]) -> str:
    """Return the verdict over several runs in a few words; the worst one first."""
    words = [_word(report) for report in reports]
    order = dict.fromkeys([*_WORDS.values(), *words])
    counts = {word: words.count(word) for word in order if word in words}
    if len(reports) == 1:
        return words[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items()) + f" of {len(reports)} runs"


def _word(report: RunReport | Result) -> str:
    if isinstance(report, RunReport) and isinstance(report.comparison, Identical):
        return verdict_word(report.comparison)
    if isinstance(report, Result) and report.code is ExitCode.IDENTICAL and report.tolerated:
        return WITHIN_TOLERANCE
    return _WORDS[report.code]


def told_line(report: RunReport | Result) -> str:
    """Return the verdict on a run in one line."""
    if isinstance(report, Result):
        first, _, rest = report.text.partition("\n")
        return first + (f"; {rest.partition(chr(10))[0]}" if rest else "")
    return verdict_line(report.name, report.comparison)


def verdict_line(run: str, found: Comparison) -> str:
    """Return a comparison in one line."""
    match found:
        case Identical():
            return "; ".join(equal_lines(f"{run}: {verdict_word(found)}", found))
        case NotComparable(reason=reason):
            return f"{run}: not comparable: {reason}"
        case Different(first=divergence):
            return f"{run}: different: {placed(describe(divergence)[:1], found)[0]}"
