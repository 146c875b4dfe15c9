"""States of the global random generators, at every step and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from golden.compare.divergence import END, Divergence, number_of
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides


@dataclass(frozen=True, slots=True)
class RandomState(Divergence):
    """A generator's state differs first after this step; None for the end of the run."""

    title = "random state"

    process: str
    generators: tuple[str, ...]
    number: int | None
    before: str

    def order(self) -> tuple[float, float, float]:
        return (number_of(self.number), END, 5)

    def origin(self) -> tuple[str, tuple[float, float]]:
        return self.process, (number_of(self.number), END)

    def say(self) -> list[str]:
        where = f"after step {self.number} overall" if self.number is not None else "at the end of the run"
        return [
            f"random state {where}: {', '.join(self.generators)}",
            f"last identical: {self.before}",
        ]


def compare_random_states(sides: Sides) -> Found:
    """Return the first step after which a generator's state differs, or the end of the run."""
    left, right = sides.left, sides.right
    states = sum(len(step.rng) for step in left.steps) + min(len(left.rng), len(right.rng))
    compared = Compared(rng_states=states)
    for number, (x, y) in enumerate(zip(left.steps, right.steps, strict=False)):
        if x.rng != y.rng:
            before = f"step {number - 1} overall" if number else "the start"
            return Found([RandomState(left.name, _unequal(x.rng, y.rng), number, before)], compared)
    if left.rng != right.rng:
        before = f"step {len(left.steps) - 1} overall" if left.steps else "the start"
        return Found([RandomState(left.name, _unequal(left.rng, right.rng), None, before)], compared)
    return Found((), compared)


def _unequal(a: Mapping[str, str], b: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name))
