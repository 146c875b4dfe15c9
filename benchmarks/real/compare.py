"""Two lists of verdicts compared: which got worse, which better, which are only other ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LEFT = re.compile(r"left (\d+) ")
# From the worst to the best.
_RANKS = {"crash": 0, "error": 1, "no row": 2, "none proposed": 3, "refused": 4, "left": 5, "nothing": 5}
_GOOD = frozenset(["lifted", "carried out"])


@dataclass(frozen=True, slots=True)
class Difference:
    """A thing of which the verdict differs; None on the side that does not have it."""

    thing: str
    before: str | None
    after: str | None

    @property
    def lines(self) -> list[str]:
        """As a diff shows it."""
        sides = (("-", self.before), ("+", self.after))
        return [f"{sign} {self.thing}: {verdict}" for sign, verdict in sides if verdict is not None]

    @property
    def step(self) -> int:
        """Below zero where the verdict got worse, above where it got better.

        What is not looked at any more got worse; how many places stall the device is neither good nor bad.
        """
        if self.before is None:
            return -1 if _rank(self.after or "") < _RANKS["refused"] else 1
        if self.after is None:
            failed = _rank(self.before) < _RANKS["no row"]
            return 1 if failed else -(not self.thing.startswith("place "))
        old, new = _rank(self.before), _rank(self.after)
        if old != new:
            return new - old
        was, now = _LEFT.match(self.before), _LEFT.match(self.after)
        return int(was[1]) - int(now[1]) if was and now else 0


def _rank(verdict: str) -> int:
    if verdict in _GOOD:
        return 10
    return next((rank for start, rank in _RANKS.items() if verdict.startswith(start)), 9)


def differences(before: Iterable[str], after: Iterable[str]) -> list[Difference]:
    """Return the differences, sorted by the thing."""
    old, new = _by_thing(before), _by_thing(after)
    things = sorted(old.keys() | new.keys())
    return [Difference(t, old.get(t), new.get(t)) for t in things if old.get(t) != new.get(t)]


def _by_thing(lines: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        thing, _, verdict = line.partition(": ")
        found[thing] = verdict
    return found
