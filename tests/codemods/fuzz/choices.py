"""Where the generator takes its decisions from: hypothesis, which shrinks, or a seed, which is fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions; the lowest number is the simplest one."""

    def integer(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included."""


class Seeded:
    """Decisions from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included."""
        return self._random.randint(low, high)


class Drawn:
    """Decisions drawn by hypothesis, so that a failure is shrunk towards the simplest program."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included."""
        return self._draw(st.integers(low, high))


def pick(choices: Choices, options: Sequence[T]) -> T:
    """Return one of `options`."""
    return options[choices.integer(0, len(options) - 1)]


def chance(choices: Choices, percent: int) -> bool:
    """Return True in about `percent` of 100 cases."""
    return choices.integer(0, 99) >= 100 - percent


def weighted(choices: Choices, options: Sequence[tuple[int, T]]) -> T:
    """Return one of `options`, which come with their weights."""
    at = choices.integer(0, sum(weight for weight, _ in options) - 1)
    for weight, option in options:
        at -= weight
        if at < 0:
            return option
    raise AssertionError("the weights add up to more than their sum")
