"""Shapley values: each seed's fair share of the accuracy that all seeds together add.

Shapley, "A value for n-person games" (1953). Sampling: Castro, Gomez, Tejada (2009), with every order also
taken backwards (Mitchell et al., 2022, arXiv:2104.12199).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import torch
from torch import Generator

from esper.simic.attribution.coalitions import Coalition, epoch_coalitions

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
