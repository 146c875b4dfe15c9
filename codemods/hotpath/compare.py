"""Which findings are new: against a baseline, or against another version of the program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from codemods.hotpath.baseline import Baseline, Entry
from codemods.hotpath.results import Allowed, Finding, Report

Old = TypeVar("Old", Finding, Entry)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that was there before; with the baseline's entry for it, where there is a baseline."""

    finding: Finding
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A report, told apart by what was there before.

    Attributes:
        report: the present one.
        new: findings that nothing matches.
        accepted: those that something matches.
        gone: of the other version, what nothing matches here.
        stale: entries of the baseline with how many findings they have too many.
        against: what was compared with; None if nothing was.
    """

    report: Report
    new: tuple[Finding, ...]
    accepted: tuple[Accepted, ...] = ()
    gone: tuple[Finding, ...] = ()
    stale: tuple[tuple[Entry, int], ...] = ()
    against: str | None = None

    @property
    def clean(self) -> bool:
        """Whether there is nothing to be done."""
        return not self.new and not self.stale

    @property
    def allowed(self) -> tuple[Allowed, ...]:
        """What comments allow."""
        return self.report.allowed


def compare(
    report: Report, before: Baseline | Report | None = None, *, against: str | None = None
) -> Comparison:
    """Tell the new findings of a report.

    Findings are matched by the code that stalls, the head of the loop and the names of the functions on the
    way, one to one; what is left over, by the first two and the length of the way (functions renamed), then
    by the first two alone (code lifted into a function, or put back). Paths and lines count for nothing.
    """
    if before is None:
        return Comparison(report, report.findings)
    if isinstance(before, Baseline):
        return _with_baseline(report, before)
    pairs, new, gone = match(report.findings, before.findings)
    accepted = tuple(Accepted(finding, None) for finding, _ in pairs)
    return Comparison(report, new, accepted, gone, against=against or "another version")


def _with_baseline(report: Report, baseline: Baseline) -> Comparison:
    stalls = [finding for finding in report.findings if finding.loop is not None]
    wrong = tuple(finding for finding in report.findings if finding.loop is None)
    slots = [entry for entry in baseline.entries for _ in range(entry.count)]
    pairs, new, left = match(stalls, slots)
    left_over: dict[Entry, int] = defaultdict(int)
    for entry in left:
        left_over[entry] += 1
    return Comparison(
        report,
        tuple(sorted((*new, *wrong), key=lambda finding: finding.order)),
        tuple(Accepted(finding, entry) for finding, entry in pairs),
        stale=tuple(left_over.items()),
        against=baseline.shown,
    )


def match(findings: Sequence[Finding], before: Sequence[Old]) -> tuple[
    list[tuple[Finding, Old]], tuple[Finding, ...], tuple[Old, ...]
]:  # fmt: skip
    """Pair findings with earlier ones, each used once; what is left on both sides."""
    pairs: list[tuple[Finding, Old]] = []
    now, then = list(findings), list(before)
    for tier in _TIERS:
        waiting: dict[Hashable, list[Old]] = defaultdict(list)
        for old in then:
            waiting[tier(old)].append(old)
        rest = []
        for finding in now:
            candidates = waiting.get(tier(finding))
            if candidates:
                pairs.append((finding, candidates.pop(0)))
            else:
                rest.append(finding)
        now, then = rest, [old for candidates in waiting.values() for old in candidates]
    paired = {id(finding): index for index, finding in enumerate(findings)}
    pairs.sort(key=lambda pair: paired[id(pair[0])])
    return pairs, tuple(now), tuple(then)


def _exact(item: Finding | Entry) -> Hashable:
    """The same key; of two findings with one key, the one that has stayed in its function goes first."""
    return item.key


def _in_place(item: Finding | Entry) -> Hashable:
    return (item.key, item.function, item.place.path) if isinstance(item, Finding) else None


def _same_length(item: Finding | Entry) -> Hashable:
    key = item.key
    return key.code, key.text, key.loop, len(key.calls)


def _same_code(item: Finding | Entry) -> Hashable:
    key = item.key
    return key.code, key.text, key.loop


_TIERS: tuple[Callable[[Finding | Entry], Hashable], ...] = (_in_place, _exact, _same_length, _same_code)
