"""Everything that a report says about one run, whatever its form; verdicts in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from esper_harness.report.findings import Case, Outcome
from golden.check.results import Result
from golden.compare import compare
from golden.compare.outcome import Comparison, Different, Identical, NotComparable
from golden.report.text import WITHIN_TOLERANCE, describe, equal_lines, gaps, render, verdict_word
from golden.trace.errors import ExitCode, UnusableInput
from golden.trace.trace import Trace

# What `golden ab --localize` found, as lines, beside the traces of both sides.
LOCALIZED = "localized.txt"
_WORDS = {
    ExitCode.DIFFERENT: "different",
    ExitCode.RUN_FAILED: "failed",
    ExitCode.UNUSABLE: "failed",
    ExitCode.NOTHING_COMPARABLE: "not comparable",
    ExitCode.IDENTICAL: "identical",
}
_OUTCOMES: Mapping[ExitCode, Outcome] = {ExitCode.IDENTICAL: "passed", ExitCode.DIFFERENT: "failure"}
_SHOWN = 20


def localized(left: Path, right: Path) -> list[str]:
    """Read what `golden ab --localize` found about two traces; nothing where it did not run."""
    left, right = left.resolve(), right.resolve()
    path = left.parent / LOCALIZED
    if left.parent != right.parent or (left.name, right.name) != ("base", "head") or not path.exists():
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


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
class Report:
    """All that a report says about one run: its verdict in a word, in a line, and in full.

    ``cases`` are those of JUnit. ``sides`` says what was compared with what, row by row.
    """

    name: str
    code: ExitCode
    word: str
    line: str
    text: str
    seconds: float
    cases: tuple[Case, ...]
    sides: tuple[tuple[str, str, str], ...] = ()


def build(
    left: Trace, right: Trace, *, left_title: str, right_title: str, closely: Sequence[str] = ()
) -> Report:
    """Compare two traces and say all that there is to say, with what ``closely`` was found."""
    found, name = compare(left, right), left.about.run
    word = verdict_word(found) if isinstance(found, Identical) else _WORDS[found.code]
    line, text = verdict_line(name, found), render(found, left=left_title, right=right_title)
    text = "\n".join([text, *closely])
    cases = [] if isinstance(found, Different) else [_verdict(name, found.code, line, text)]
    if not isinstance(found, NotComparable):
        cases += _cases(f"golden.{name}", found)
    a, b = left.about, right.about
    sides = [
        ("trace", left_title, right_title),
        ("label", a.label, b.label),
        ("command", " ".join(a.argv), " ".join(b.argv)),
        ("seed", str(a.seed), str(b.seed)),
    ]
    names = dict.fromkeys([*a.fingerprint, *b.fingerprint])
    sides += [(n, a.fingerprint.get(n, "unknown"), b.fingerprint.get(n, "unknown")) for n in names]
    return Report(name, found.code, word, line, text, b.seconds, tuple(cases), tuple(sides))


def of_result(result: Result) -> Report:
    """Say what is kept of the verdict on a run whose traces are gone."""
    tolerated = result.code is ExitCode.IDENTICAL and result.tolerated
    line = "; ".join(result.text.splitlines()[:2])
    case = _verdict(result.run, result.code, line, result.text)
    word = WITHIN_TOLERANCE if tolerated else _WORDS[result.code]
    return Report(result.run, result.code, word, line, result.text, result.seconds, (case,))


def _verdict(name: str, code: ExitCode, line: str, text: str) -> Case:
    outcome = _OUTCOMES.get(code, "error")
    message = None if outcome == "passed" else line
    return Case(
        group=f"golden.{name}", name="verdict", outcome=outcome, message=message, lines=text.splitlines()
    )


def _cases(group: str, found: Identical | Different) -> Iterator[Case]:
    """Yield a case for each kind of thing that differs, and for all that was not compared."""
    failures: dict[str, list[str]] = {}
    for divergence in (found.first, *found.rest) if isinstance(found, Different) else ():
        failures.setdefault(divergence.kind, []).append(describe(divergence)[0])
    for kind, lines in failures.items():
        more = [f"and {len(lines) - _SHOWN:,} more"] if len(lines) > _SHOWN else []
        yield Case(
            group=group, name=kind, outcome="failure", message=lines[0], lines=[*lines[:_SHOWN], *more]
        )
    for line in gaps(found.compared):
        why, _, what = line.partition(": ")
        yield Case(group=group, name=why, outcome="skipped", message=what)


def headline(reports: Sequence[Report]) -> str:
    """Return the verdict over several runs in a few words; the worst one first."""
    words = [report.word for report in reports]
    if len(words) == 1:
        return words[0]
    order = dict.fromkeys([*_WORDS.values(), *words])
    counts = [f"{words.count(word)} {word}" for word in order if word in words]
    return f"{', '.join(counts)} of {len(words)} runs"


def verdict_line(run: str, found: Comparison) -> str:
    """Return a comparison in one line."""
    match found:
        case Identical():
            return "; ".join(equal_lines(f"{run}: {verdict_word(found)}", found))
        case NotComparable(reason=reason):
            return f"{run}: not comparable: {reason}"
        case Different(first=divergence):
            return f"{run}: different: {describe(divergence)[0]}"
