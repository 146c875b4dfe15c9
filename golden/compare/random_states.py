"""States of the global random generators, at every step and at the end."""

from __future__ import annotations

from dataclasses import dataclass

from golden.compare.divergence import END, Divergence, number_of, unequal
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
    last = "the start"
    numbers = [*range(min(len(left.steps), len(right.steps))), None]
    for number in numbers:
        x, y = (side if number is None else side.steps[number] for side in (left, right))
        if x.rng != y.rng:
            return Found([RandomState(left.name, tuple(unequal(x.rng, y.rng)), number, last)], compared)
        last = f"step {number} overall"
    return Found((), compared)
