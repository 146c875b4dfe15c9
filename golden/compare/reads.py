"""Host reads of two processes: where the host waits more often or less, and where it reads another value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from esper_harness.report.plain import many
from golden.compare.divergence import END, SHOWN, Divergence, number_of
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.trace.streams import of_process
from golden.trace.trace import Site

Values = Mapping[Site, str] | None
COUNTS = "host reads"


def _function(site: Site) -> tuple[str, str]:
    """Return what a read is known by that moved to another line, file or class."""
    return site.function.rpartition(".")[2], site.read


def _where(sides: Sides, number: int | None) -> str:
    if number is None:
        return f"after the last step{of_process(sides.left.name)}"
    places = ((stream, index, x) for stream, a, _ in sides.streams() for index, x in enumerate(a))
    stream, index = next((stream, index) for stream, index, step in places if step.number == number)
    return f"before step {index} of {stream.title} (step {number} overall)"


def compare_reads(sides: Sides) -> Found:
    """Find the first step before which one side reads more, and count the reads that were compared.

    Only numbers count: a read that moved to another function is the same read. How often the host waits
    changes no bit: whatever does is said first.
    """
    both = [(number, x.reads or {}, y.reads) for number, x, y in sides.between() if x.reads is not None]
    found = [(number, x, y) for number, x, y in both if y is not None and sum(x.values()) != sum(y.values())]
    told = []
    if found:
        number, x, y = found[0]
        lines = [f"host reads {_where(sides, number)}: {sum(x.values())} -> {sum(y.values())}"]
        sites = [*site_changes(x, y)]
        lines += sites[:SHOWN]
        if len(sites) > SHOWN:
            lines.append(f"and {len(sites) - SHOWN} more places")
        if steps := sum(1 for number, _, _ in found if number is not None):
            of = many(len(sides.left.steps), "step")
            lines.append(f"another number of reads before {steps:,} of {of}")
        told = [Divergence(COUNTS, (END, END, 11), lines, number=number)]
    compared = sum(sum(x.values()) for _, x, _ in both)
    counted = sides.left.reads is not None or sides.right.reads is not None
    loaders = max(sides.left.loader_processes, sides.right.loader_processes)
    unseen = ("what loader processes read to the host",) if loaders and counted else ()
    return Found(told, Compared(reads=compared, uncompared=unseen))


def site_changes(left: Mapping[Site, int], right: Mapping[Site, int]) -> Iterator[str]:
    """Yield the functions that read more or less often, in words: with the line, where it is one place."""
    here, there = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for counts, side in ((here, left), (there, right)):
        for site, count in side.items():
            counts[_function(site)] += count
    for key in dict.fromkeys([*here, *there]):
        if here[key] != there[key]:
            sites = [site for side in (right, left) for site in side if _function(site) == key]
            others = [site for site in sites if left.get(site) != right.get(site)]
            new = [site for site in others if site in right] or others
            yield f"{new[0].title if len(new) == 1 else new[0].place}: {here[key]} -> {there[key]}"


def compare_values(sides: Sides) -> Found:
    """Return the first reads that differ, if any do.

    A read that moved to another place is the same read, and one more or less is a difference of numbers.
    """
    for number, x, y in sides.between():
        if changes := value_changes(x.values, y.values):
            first, *more = changes[:SHOWN]
            lines = [f"value that the host reads {_where(sides, number)}: {first}", *more]
            place = (number_of(number), END, 4)
            return Found([Divergence("values of host reads", place, lines, sides.left.name, number)])
    return Found()


def value_changes(left: Values, right: Values) -> list[str]:
    """List the places that read other values, in words; what is read at another place is matched first."""
    if left is None or right is None or left == right:
        return []
    a, b = Counter(left.values()), Counter(right.values())
    rest, found = _rest(right, b - a), []
    for site, text in _rest(left, a - b).items():
        like = [other for other in rest if other.read == site.read]
        if like:
            other = min(like, key=lambda other: (other != site, _function(other) != _function(site)))
            found.append(f"{other.title}: {text} -> {rest.pop(other)}")
    return found


def _rest(side: Mapping[Site, str], without: Counter[str]) -> dict[Site, str]:
    """Return the sites whose values the other side has not read."""
    found = {}
    for site, text in side.items():
        if without[text]:
            without[text] -= 1
            found[site] = text
    return found
