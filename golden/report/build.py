"""Everything that a report says about one run, gathered from two traces; verdicts in a few words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from golden.check.results import Result
from golden.compare import compare
from golden.compare.divergence import Divergence
from golden.compare.outcome import Comparison, Different, Identical, NotComparable
from golden.report.text import WITHIN_TOLERANCE, describe, equal_lines, placed, verdict_word
from golden.trace.errors import ExitCode, UnusableInput
from golden.trace.trace import Trace

# What `golden ab --localize` found, as lines, beside the traces of both sides.
LOCALIZED = "localized.json"
_WORDS = {
    ExitCode.DIFFERENT: "different",
    ExitCode.RUN_FAILED: "failed",
    ExitCode.UNUSABLE: "failed",
    ExitCode.NOTHING_COMPARABLE: "not comparable",
    ExitCode.IDENTICAL: "identical",
}


def localized(left: Path, right: Path) -> list[str]:
    """Read what `golden ab --localize` found about two traces; nothing where it did not run.

    Raises `UnusableInput` if the file that says it is damaged.
    """
    left, right = left.resolve(), right.resolve()
    path = left.parent / LOCALIZED
    if left.parent != right.parent or (left.name, right.name) != ("base", "head") or not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(line, str) for line in found):
        raise UnusableInput(f"{path} is damaged; remove it, or run `golden ab --localize` again")
    return found


def trace_pairs(left: Path, right: Path) -> list[tuple[Path, Path]]:
    """Return the traces of two folders: themselves, or their subfolders by the name of the run."""
    for side in (left, right):
        if not side.is_dir():
            raise UnusableInput(f"no folder {side}")
    if (left / "trace.json").exists() or (right / "trace.json").exists():
        return [(left, right)]
    names = {side: {p.parent.name for p in side.glob("*/trace.json")} for side in (left, right)}
    if not names[left] or not names[right]:
        empty = left if not names[left] else right
        raise UnusableInput(f"{empty} is not a trace and holds none")
    if names[left] != names[right]:
        odd = ", ".join(sorted(names[left] ^ names[right]))
        raise UnusableInput(f"{left} and {right} don't hold the same runs: {odd} is on one side only")
    return [(left / name, right / name) for name in sorted(names[left])]


@dataclass(frozen=True, slots=True)
class RunReport:
    """Two traces of one run and what comparing them found."""

    left_title: str
    right_title: str
    left: Trace
    right: Trace
    comparison: Comparison
    # What `golden ab --localize` found when it ran both sides again.
    closely: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The run's name."""
        return self.left.about.run

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for."""
        return self.comparison.code

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """All that was found, the first first."""
        found = self.comparison
        return (found.first, *found.rest) if isinstance(found, Different) else ()


def build(
    left: Trace, right: Trace, *, left_title: str, right_title: str, closely: Sequence[str] = ()
) -> RunReport:
    """Compare two traces and gather what there is to show."""
    return RunReport(left_title, right_title, left, right, compare(left, right), tuple(closely))


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
