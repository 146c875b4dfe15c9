"""Fields by name of whatever is neither tensor nor output: of every step, and at the end of a process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from esper_harness.report.plain import listed
from golden.compare.divergence import END, Divergence, number_of, unequal
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.trace.kinds import RANDOM_STATE
from golden.trace.streams import of_process, settings
from golden.trace.trace import Kinds

_DIGEST = re.compile(r"[0-9a-f]{8}|[0-9a-f]{32}")


def compare_fields(sides: Sides, only: str = "") -> Found:
    """Find the first difference of every title, or of ``only`` one, and name what one side alone held."""
    found: dict[str, list[Divergence]] = {}
    process = sides.left.name
    before: dict[str, str] = {}
    counts: Counter[bool] = Counter()
    here: dict[str, None] = {}
    there: dict[str, None] = {}
    for number, where, a, b in _moments(sides):
        here |= dict.fromkeys(a)
        there |= dict.fromkeys(b)
        for title in (title for title in a if title in b and only in ("", title)):
            x, y = a[title], b[title]
            counts[title == RANDOM_STATE] += len(x) if where else 0
            if x != y and title not in found:
                fields = [_told(name, x.get(name), y.get(name)) for name in unequal(x, y)]
                told = [[f"{title}: {field}".removesuffix(": ")] for field in fields]
                if where:
                    # What is held at the end alone differs setting by setting.
                    head = f"{title}{of_process(process)} {where}: {', '.join(fields)}".removesuffix(": ")
                    told = [[head, f"last identical: {before.get(title, 'the start')}"]]
                place = (number_of(number), END, 5 if where else 10)
                found[title] = [Divergence(title, place, lines, process, number) for lines in told]
            before[title] = f"step {number} overall"
    both = here.keys() & there.keys()
    # What both hold "at the end" is compared there.
    alone = [name for name in {**here, **there} if not any(each.startswith(name) for each in both)]
    uncompared = (f"held on one side only ({listed(alone, 3, '; ')})",) if alone and not only else ()
    amount = Compared(rng_states=counts[True], scalars=counts[False], uncompared=uncompared)
    return Found([change for changes in found.values() for change in changes], amount)


def _moments(sides: Sides) -> Iterator[tuple[int | None, str, Kinds, Kinds]]:
    """Yield what both sides hold after each step, by its number in base, and at the end."""
    for number, x, y in sides.between():
        where = "at the end of the run" if number is None else f"after step {number} overall"
        yield number, where, x.kinds, y.kinds
    yield None, "", settings(sides.left), settings(sides.right)


def _told(name: str, x: str | None, y: str | None) -> str:
    digests = x and y and _DIGEST.fullmatch(x) and _DIGEST.fullmatch(y)
    return f"{name}: {x or 'none'} -> {y or 'none'}" if not digests else name
