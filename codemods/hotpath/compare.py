"""Which findings are new: against a baseline, or against another version of the program."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from codemods.hotpath.baseline import Baseline, Entry
from codemods.hotpath.identity import alike
from codemods.hotpath.results import HEATS, Allowed, Finding, Operation, Place, Report


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
        stale: entries of the baseline with how many places they have too many.
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
        """Tell whether there is nothing to be done."""
        return not self.new and not self.stale

    @property
    def allowed(self) -> tuple[Allowed, ...]:
        """Findings that comments allow."""
        return self.report.allowed


@dataclass(frozen=True, slots=True)
class Site:
    """A place that stalls, with all ways to it, the hottest first."""

    ways: tuple[Finding, ...]

    @property
    def operation(self) -> Operation:
        """Identity of the finding."""
        return self.ways[0].operation


Old = TypeVar("Old", Site, Entry)


def compare(
    report: Report, before: Baseline | Report | None = None, *, against: str | None = None
) -> Comparison:
    """Tell the new findings of a report.

    A place is known if the same function had the same operation before, as hot or hotter, each counted once.
    A function that has moved is known by its name or by what stands in it. Against another version, a further
    call of what leads to a known place is new, and nothing that goes through unchanged files alone is.
    """
    if before is None:
        return Comparison(report, report.findings)
    if isinstance(before, Baseline):
        return _with_baseline(report, before)
    match = _Match[Site](report, before)
    pairs, new, gone = match.match(_sites(report.findings), _sites(before.findings))
    further = [Site((way,)) for site, old in pairs for way in match.surplus(site, old)]
    _, further, gone = match.match(further, gone)  # what was moved into a function that had the same
    fresh = [way for site in new for way in site.ways]
    fresh += [site.ways[0] for site in further if match.calls_more(site.ways[0])]
    fresh = [way for way in fresh if any(before.contents.get(p) != report.contents.get(p) for p in way.paths)]
    told = set(map(id, fresh))
    return Comparison(
        report,
        _ordered(fresh),
        tuple(Accepted(finding, None) for finding in report.findings if id(finding) not in told),
        _ordered(way for site in gone for way in site.ways),
        against=against or "another version",
    )


def _with_baseline(report: Report, baseline: Baseline) -> Comparison:
    wrong = [finding for finding in report.findings if finding.loop is None]
    entries = [entry for entry in baseline.entries for _ in range(entry.count)]
    sites = _sites(finding for finding in report.findings if finding.loop is not None)
    pairs, new, left = _Match[Entry](report, None).match(sites, entries)
    return Comparison(
        report,
        _ordered([*wrong, *(way for site in new for way in site.ways)]),
        tuple(Accepted(way, entry) for site, entry in pairs for way in site.ways),
        stale=tuple(Counter(left).items()),
        against=baseline.shown,
    )


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.order))


def _heat(operation: Operation) -> int:
    return -1 if operation.heat is None else HEATS.index(operation.heat)


def _sites(findings: Iterable[Finding]) -> list[Site]:
    """Findings by place and code."""
    places: dict[tuple[Place, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        places[finding.place, finding.code].append(finding)
    return [Site(tuple(sorted(ways, key=lambda way: _heat(way.operation)))) for ways in places.values()]


class _Match(Generic[Old]):
    """Pairs places with earlier ones, or with entries of a baseline, each used once."""

    def __init__(self, report: Report, before: Report | None) -> None:
        self.report = report
        self.before = before

    def match(
        self, sites: Iterable[Site], before: Iterable[Old]
    ) -> tuple[list[tuple[Site, Old]], list[Site], list[Old]]:
        """The pairs, and what is left on both sides."""
        pairs: list[tuple[Site, Old]] = []
        now = sorted(sites, key=lambda site: _heat(site.operation))
        then = sorted(before, key=lambda old: _heat(old.operation))
        for tier, fits in (
            (_same_text, None),
            (_same_function, None),
            (_same_name, self._moved),
            (_same_form, self._moved_content),
        ):
            waiting: dict[Hashable, list[Old]] = defaultdict(list)
            for old in then:
                waiting[tier(old.operation)].append(old)
            rest = []
            for site in now:
                candidates = waiting[tier(site.operation)]
                found = next((old for old in candidates if self._fits(site, old, fits)), None)
                if found is None:
                    rest.append(site)
                else:
                    candidates.remove(found)
                    pairs.append((site, found))
            now, then = rest, [old for candidates in waiting.values() for old in candidates]
        return pairs, now, then

    def surplus(self, site: Site, old: Old) -> list[Finding]:
        """Ways to a place that are more than there were, those that a further call makes first."""
        if self.before is None or not isinstance(old, Site):
            return []
        if site.ways[0].place in self.report.truncated or old.ways[0].place in self.before.truncated:
            return []
        ways = sorted(site.ways, key=self.calls_more, reverse=True)
        return ways[: max(0, len(site.ways) - len(old.ways))]

    def calls_more(self, way: Finding) -> bool:
        """Tell whether the loop's function calls what leads to a place more often than it did."""
        if way.loop is None or not way.steps or self.before is None:
            return False
        caller = way.loop.place.path, way.loop.function
        called = f".{way.steps[0].function.rpartition('.')[2]}("
        now, then = (
            sum(line.count(called) for line in side.bodies.get(caller, ()))
            for side in (self.report, self.before)
        )
        return now > then

    def _fits(self, site: Site, old: Old, further: Callable[[Site, Old], bool] | None) -> bool:
        hot = _heat(old.operation) <= _heat(site.operation)
        return hot and (further is None or further(site, old))

    def _moved(self, site: Site, old: Old) -> bool:
        """Tell whether not both functions are there on both sides."""
        new = self.before is not None and _holder(site.operation) not in self.before.bodies
        return new or _holder(old.operation) not in self.report.bodies

    def _moved_content(self, site: Site, old: Old) -> bool:
        """The same, and the one function has much of the other, or calls it."""
        here, there = _holder(site.operation), _holder(old.operation)
        called = any(old.operation.function in _functions(way) for way in site.ways)
        if self.before is None:  # a baseline has no text of functions
            return called or there not in self.report.bodies
        if not self._moved(site, old):
            return False
        return called or alike(self.report.bodies.get(here, ()), self.before.bodies.get(there, ()))


def _functions(way: Finding) -> set[str]:
    """The functions on the way from the loop to a place, that of the place left out."""
    return (
        {way.loop.function, *(step.function for step in way.steps[:-1])} if way.loop and way.steps else set()
    )


def _holder(operation: Operation) -> tuple[str, str]:
    return operation.path, operation.function


def _same_text(operation: Operation) -> Hashable:
    return operation[:4]


def _same_function(operation: Operation) -> Hashable:
    return operation.code, operation.form, operation.path, operation.function


def _same_name(operation: Operation) -> Hashable:
    return operation.code, operation.form, operation.function


def _same_form(operation: Operation) -> Hashable:
    return operation.code, operation.form


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline brought up to date: what was added to it, and what was taken out (entry, how many)."""

    baseline: Baseline
    added: tuple[Finding, ...]
    pruned: tuple[tuple[Entry, int], ...]


def update_baseline(report: Report, baseline: Baseline, *, reason: str) -> Update:
    """Take out what nothing matches, move entries whose code has moved, add what is not in it yet."""
    compared = compare(report, baseline)
    added = tuple(finding for finding in compared.new if finding.loop is not None)
    counted: Counter[tuple[Operation, str]] = Counter()
    entries = {(item.finding.place, item.finding.code): item.entry for item in compared.accepted}
    for site in _sites(finding for finding in report.findings if finding.loop is not None):
        entry = entries.get((site.ways[0].place, site.ways[0].code))
        counted[site.operation, reason if entry is None else entry.reason] += 1
    updated = [Entry(operation, count, why) for (operation, why), count in counted.items()]
    updated.sort(key=lambda entry: entry.order)
    return Update(Baseline(tuple(updated), baseline.shown), added, compared.stale)
