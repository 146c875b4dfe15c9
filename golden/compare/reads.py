"""Host reads of two processes: where the host waits more often, or less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from golden.compare.outcome import ReadCount, SiteChange
from golden.trace.streams import Stream
from golden.trace.trace import Process, Site, Step

Grouped = Mapping[Stream, Sequence[Step]]
Reads = Mapping[Site, int] | None


def compare_reads(
    left: Process, right: Process, of_left: Grouped, of_right: Grouped
) -> tuple[ReadCount | None, int]:
    """The first step before which one side reads more than the other, and how many reads were compared.

    Only numbers count: a read that moved to another function is the same read.
    """
    found: list[ReadCount] = []
    compared = total = 0
    for stream in (s for s in of_left if s in of_right):
        for index, (x, y) in enumerate(zip(of_left[stream], of_right[stream], strict=False)):
            total += 1
            compared += sum((x.reads or {}).values())
            if _differ(x.reads, y.reads):
                found.append(_count(left.name, stream, index, x.number, x.reads, y.reads))
    compared += sum((left.reads or {}).values())
    first = min(found, key=lambda f: f.number or 0, default=None)
    if first is None and _differ(left.reads, right.reads):
        first = _count(left.name, None, 0, None, left.reads, right.reads)
    if first is None:
        return None, compared
    return replace(first, steps=len(found), total=total), compared


def _differ(left: Reads, right: Reads) -> bool:
    return left is not None and right is not None and sum(left.values()) != sum(right.values())


def _count(
    process: str, stream: Stream | None, step: int, number: int | None, left: Reads, right: Reads
) -> ReadCount:
    a, b = left or {}, right or {}
    sites = site_changes(a, b)
    return ReadCount(process, stream, step, number, sum(a.values()), sum(b.values()), sites, 0, 0)


def site_changes(left: Mapping[Site, int], right: Mapping[Site, int]) -> tuple[SiteChange, ...]:
    """Where the numbers differ. What moved is matched first: to another line, file, then function.

    A place that moved is told with the number that it had before: by its new line, with its old one.
    """
    a, b = Counter(dict(left)), Counter(dict(right))
    moved: Counter[tuple[Site, Site]] = Counter()
    keys: tuple[Callable[[Site], Hashable], ...] = (
        lambda s: s,
        lambda s: (s.file, s.function, s.read),
        lambda s: (s.function.rpartition(".")[2], s.read),
        lambda s: s.read,
    )
    for key in keys:
        _cancel(a, b, key, moved)
    now = {x: y for x, y in moved if x != y}
    was = {y: x for x, y in moved if x != y}
    fewer = [SiteChange(_title(x, now.get(x), "now"), left[x], left[x] - a[x]) for x in +a]
    more = [SiteChange(_title(y, was.get(y), "was"), right[y] - b[y], right[y]) for y in +b]
    return (*fewer, *more)


def _title(site: Site, other: Site | None, word: str) -> str:
    return site.title if other is None else f"{site.title} ({word} {other.file}:{other.line})"


def _cancel(
    a: Counter[Site], b: Counter[Site], key: Callable[[Site], Hashable], moved: Counter[tuple[Site, Site]]
) -> None:
    """Take away from both what both have under a key, and note what became what."""
    for x in [site for site in a if a[site]]:
        for y in [site for site in b if b[site] and key(site) == key(x)]:
            both = min(a[x], b[y])
            if both:
                moved[x, y] += both
            a[x] -= both
            b[y] -= both
