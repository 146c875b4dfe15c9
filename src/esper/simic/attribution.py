"""Attribution of accuracy to seeds: configurations, contributions, interactions, Shapley values."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import torch
from torch import Generator

Coalition = frozenset[str]
"""The slots whose seed is switched on."""


def epoch_coalitions(slots: Sequence[str]) -> tuple[Coalition, ...]:
    """Return what an epoch compares, all seeds first: then each one off, each two off, all off.

    They are enough for every contribution and every interaction of two. With up to three seeds these are all
    subsets.
    """
    off = [chosen for size in (0, 1, 2, len(slots)) for chosen in combinations(slots, size)]
    everyone = frozenset(slots)
    return tuple(dict.fromkeys(everyone.difference(chosen) for chosen in off))


def alpha_overrides(coalitions: Iterable[Coalition], slots: Sequence[str]) -> list[dict[str, float]]:
    """For every coalition the slots to switch off, as `MorphogeneticModel.fused_forward` takes them."""
    return [{slot: 0.0 for slot in slots if slot not in coalition} for coalition in coalitions]


def coalition_name(coalition: Coalition, slots: Sequence[str]) -> str:
    """The slots switched on, in the host's order, joined by `+`; `none` for none."""
    return "+".join(slot for slot in slots if slot in coalition) or "none"


def most_coalitions(num_slots: int, orders: int) -> int:
    """The most configurations of any epoch of a host: an epoch's, and those of the last epoch's orders."""
    everyone = 2**num_slots
    pairs = num_slots * (num_slots - 1) // 2
    return min(everyone, 2 + num_slots + pairs + orders * max(0, num_slots - 1))


@dataclass(frozen=True, slots=True)
class CounterfactualMatrix:
    """Validation accuracies (fractions) by the slots switched on; at least those of `epoch_coalitions`."""

    slots: tuple[str, ...]
    accuracies: Mapping[Coalition, float]

    @classmethod
    def of(
        cls, slots: Sequence[str], coalitions: Sequence[Coalition], accuracies: Sequence[float]
    ) -> CounterfactualMatrix:
        """From parallel lists; ValueError where their lengths differ."""
        return cls(tuple(slots), dict(zip(coalitions, accuracies, strict=True)))

    @property
    def full(self) -> float:
        """Accuracy of the host as it is."""
        return self.accuracies[frozenset(self.slots)]

    @property
    def bare(self) -> float:
        """Accuracy with every seed switched off."""
        return self.accuracies[frozenset()]

    def contributions(self) -> dict[str, float]:
        """Return the accuracy that goes away with each seed alone."""
        return {slot: self.full - self._without(slot) for slot in self.slots}

    def interactions(self) -> dict[tuple[str, str], float]:
        """For each two slots, in order: what both add over what each adds, all other seeds being on.

        `v(N) - v(N - a) - v(N - b) + v(N - a - b)`; above 0 where the seeds help each other.
        """
        return {
            (a, b): self.full - self._without(a) - self._without(b) + self._without(a, b)
            for a, b in combinations(self.slots, 2)
        }

    def by_name(self) -> dict[str, float]:
        """Accuracies by the configuration's name."""
        return {coalition_name(found, self.slots): value for found, value in self.accuracies.items()}

    def _without(self, *slots: str) -> float:
        return self.accuracies[frozenset(self.slots).difference(slots)]


EXACT_LIMIT = 4
"""Seeds up to which all subsets are validated: 16 configurations."""

SAMPLED_ORDERS = 6
"""Orders drawn for more seeds, half of them the other half backwards."""

Value = Callable[[Coalition], float]
Order = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShapleyValues:
    """Shares by player, which sum to the value of all minus that of none.

    `standard_errors` estimate how far a sampled share may be off; empty for exact ones.
    """

    method: Literal["exact", "sampled"]
    values: Mapping[str, float]
    standard_errors: Mapping[str, float] = field(default_factory=dict)


def exact_shapley(players: Sequence[str], value: Value) -> ShapleyValues:
    """Shares from the values of all subsets: `value` is called for each of `2**len(players)`."""
    count = len(players)
    known = {
        frozenset(chosen): value(frozenset(chosen))
        for size in range(count + 1)
        for chosen in combinations(players, size)
    }
    shares = {}
    for player in players:
        terms = []
        for coalition, before in known.items():
            if player not in coalition:
                size = len(coalition)
                weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
                terms.append(weight * (known[coalition | {player}] - before))
        shares[player] = math.fsum(terms)
    return ShapleyValues("exact", shares)


def draw_orders(players: Sequence[str], count: int, generator: Generator) -> tuple[Order, ...]:
    """Random orders of the players, each followed by the same backwards; `count` must be even."""
    if count < 2 or count % 2:
        raise ValueError(f"orders come in pairs; {count} is no even number above 0")
    orders: list[Order] = []
    for _ in range(count // 2):
        order = tuple(players[index] for index in torch.randperm(len(players), generator=generator).tolist())
        orders += [order, order[::-1]]
    return tuple(orders)


def coalitions_of_orders(orders: Iterable[Order]) -> tuple[Coalition, ...]:
    """The subsets whose values `sampled_shapley` needs: every beginning of every order."""
    return tuple(dict.fromkeys(frozenset(order[:size]) for order in orders for size in range(len(order) + 1)))


def sampled_shapley(orders: Sequence[Order], value: Value) -> ShapleyValues:
    """Shares as means of what each player adds where it joins, over orders in pairs as drawn."""
    gains = [_gains(order, value) for order in orders]
    shares = {player: statistics.fmean(gain[player] for gain in gains) for player in orders[0]}
    # The two orders of a pair depend on each other; pairs don't.
    pairs = [(gains[index], gains[index + 1]) for index in range(0, len(gains), 2)]
    means = {player: [(a[player] + b[player]) / 2 for a, b in pairs] for player in orders[0]}
    errors = {
        player: statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.inf
        for player, found in means.items()
    }
    return ShapleyValues("sampled", shares, errors)


def _gains(order: Order, value: Value) -> dict[str, float]:
    values = [value(frozenset(order[:size])) for size in range(len(order) + 1)]
    return {player: values[index + 1] - values[index] for index, player in enumerate(order)}


def final_coalitions(
    players: Sequence[str], generator: Generator
) -> tuple[tuple[Coalition, ...], tuple[Order, ...]]:
    """The configurations of an episode's last epoch, and the orders to sample with (none if exact).

    Those of every epoch come first. Draws from the generator only where sampling is needed.
    """
    usual = epoch_coalitions(players)
    if len(players) <= EXACT_LIMIT:
        subsets = [frozenset(c) for size in range(len(players) + 1) for c in combinations(players, size)]
        return tuple(dict.fromkeys([*usual, *subsets])), ()
    orders = draw_orders(players, SAMPLED_ORDERS, generator)
    return tuple(dict.fromkeys([*usual, *coalitions_of_orders(orders)])), orders


def compute_shapley(players: Sequence[str], orders: Sequence[Order], value: Value) -> ShapleyValues:
    """Exact shares without orders, else sampled ones."""
    return sampled_shapley(orders, value) if orders else exact_shapley(players, value)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Configurations that one pass compares, the host as it is first. `orders` sample Shapley values."""

    slots: tuple[str, ...] = ()
    coalitions: tuple[Coalition, ...] = (frozenset(),)
    orders: tuple[Order, ...] = ()

    @classmethod
    def of_epoch(cls, slots: Sequence[str]) -> Comparison:
        """Enough for contributions and interactions of the seeds in some slots."""
        return cls(tuple(slots), epoch_coalitions(slots))

    @classmethod
    def of_last_epoch(cls, slots: Sequence[str], generator: Generator) -> Comparison:
        """Enough for Shapley values besides."""
        coalitions, orders = final_coalitions(slots, generator)
        return cls(tuple(slots), coalitions, orders)

    @property
    def overrides(self) -> list[dict[str, float]]:
        """The configurations as `MorphogeneticModel.fused_forward` takes them."""
        return alpha_overrides(self.coalitions, self.slots)

    def matrix(self, accuracies: Sequence[float]) -> CounterfactualMatrix:
        """The accuracies (fractions) of the configurations, as far as there are any; more are left alone."""
        count = len(self.coalitions)
        return CounterfactualMatrix.of(self.slots, self.coalitions, accuracies[:count])

    def shapley(self, matrix: CounterfactualMatrix) -> ShapleyValues:
        """Shapley values; KeyError for a comparison that is not of a last epoch and has not all it takes."""
        return compute_shapley(self.slots, self.orders, matrix.accuracies.__getitem__)
