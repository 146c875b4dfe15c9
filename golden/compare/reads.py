"""Host reads of two processes: where the host waits more often or less, and where it reads another value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from esper_harness.report.plain import many
from golden.compare.divergence import END, SHOWN, Divergence, number_of
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.trace.streams import of_process
from golden.trace.trace import Site

Values = Mapping[Site, str] | None
COUNTS = "host reads"
# By which a place is known again that moved: to another line, file, then function.
_KEYS: tuple[Callable[[Site], Hashable], ...] = (
    lambda s: s,
    lambda s: (s.file, s.function, s.read),
    lambda s: (s.function.rpartition(".")[2], s.read),
    lambda s: s.read,
)


@dataclass(frozen=True, slots=True)
class SiteChange:
    """The number of host reads at one place of the program on both sides, or the values that they gave."""

    title: str
    left: int | str
    right: int | str

    @property
    def line(self) -> str:
        """The change in words."""
        return f"{self.title}: {self.left} -> {self.right}"


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
        sites = site_changes(x, y)
        lines += [site.line for site in sites[:SHOWN]]
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


def site_changes(left: Mapping[Site, int], right: Mapping[Site, int]) -> tuple[SiteChange, ...]:
    """List the places whose numbers differ. Moved ones are matched first: by line, file, then function.

    A place that moved is told with the number that it had before: by its new line, with its old one.
    """
    a, b = Counter(dict(left)), Counter(dict(right))
    moved = _cancel(a, b)
    now = {x: y for x, y in moved if x != y}
    was = {y: x for x, y in moved if x != y}
    fewer = [SiteChange(_title(x, now.get(x), "now"), left[x], left[x] - a[x]) for x in +a]
    more = [SiteChange(_title(y, was.get(y), "was"), right[y] - b[y], right[y]) for y in +b]
    return (*fewer, *more)


def _title(site: Site, other: Site | None, word: str) -> str:
    return site.title if other is None else f"{site.title} ({word} {other.file}:{other.line})"


def _cancel(a: Counter[Site], b: Counter[Site]) -> Counter[tuple[Site, Site]]:
    """Take away from both what both have under a key, and return what became what."""
    moved: Counter[tuple[Site, Site]] = Counter()
    for key in _KEYS:
        for x in +a:
            for y in [site for site in +b if key(site) == key(x)]:
                if both := min(a[x], b[y]):
                    moved[x, y] += both
                    a[x] -= both
                    b[y] -= both
    return moved


def compare_values(sides: Sides) -> Found:
    """Return the first reads that differ, if any do.

    A read that moved to another place is the same read, and one more or less is a difference of numbers.
    """
    for number, x, y in sides.between():
        if changes := value_changes(x.values, y.values):
            first, *more = [site.line for site in changes[:SHOWN]]
            lines = [f"value that the host reads {_where(sides, number)}: {first}", *more]
            place = (number_of(number), END, 4)
            return Found([Divergence("values of host reads", place, lines, sides.left.name, number)])
    return Found()


def value_changes(left: Values, right: Values) -> tuple[SiteChange, ...]:
    """Return the places that read other values; what is read at another place is matched first."""
    if left is None or right is None or left == right:
        return ()
    a, b = Counter(left.values()), Counter(right.values())
    x, y = _rest(left, a - b), _rest(right, b - a)
    moved = _cancel(Counter(dict.fromkeys(x, 1)), Counter(dict.fromkeys(y, 1)))
    return tuple(SiteChange(other.title, x[site], y[other]) for site, other in moved)


def _rest(side: Mapping[Site, str], without: Counter[str]) -> dict[Site, str]:
    """Return the sites whose values the other side has not read."""
    found = {}
    for site, text in side.items():
        if without[text]:
            without[text] -= 1
            found[site] = text
    return found
