"""Fields by name of whatever is neither tensor nor output: of every step, and at the end of a process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from esper_harness.report.plain import listed
from golden.compare.divergence import END, Divergence, number_of, unequal
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.trace.kinds import RANDOM_STATE
from golden.trace.streams import of_process, settings
from golden.trace.trace import Kinds

_DIGEST = re.compile(r"[0-9a-f]{8}|[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class FieldChange(Divergence):
    """Fields of one title that differ, first after this step; ``number`` is None for the end of the run.

    ``where`` says so in words, empty for what is held at the end alone.
    """

    process: str
    what: str
    where: str
    number: int | None
    fields: tuple[str, ...]
    before: str

    def order(self) -> tuple[float, float, float]:
        return (number_of(self.number), END, 5 if self.where else 10)

    def say(self) -> list[str]:
        head = f"{self.what}{of_process(self.process)} {self.where}" if self.where else self.what
        line = f"{head}: {', '.join(self.fields)}".removesuffix(": ")
        return [line, f"last identical: {self.before}"] if self.where else [line]

    @property
    def kind_title(self) -> str:
        return self.what


def compare_fields(sides: Sides, only: str = "") -> Found:
    """Find the first difference of every title, or of ``only`` one, and name what one side alone held."""
    found: dict[str, list[FieldChange]] = {}
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
                fields = tuple(_told(name, x.get(name), y.get(name)) for name in unequal(x, y))
                last = before.get(title, "the start")
                # What is held at the end alone differs setting by setting.
                groups = [fields] if where else [(field,) for field in fields]
                found[title] = [
                    FieldChange(sides.left.name, title, where, number, each, last) for each in groups
                ]
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
