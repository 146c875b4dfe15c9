"""Shares add up, equals get equal shares, who adds nothing gets nothing: exact, and as far as sampled."""

import math
from collections.abc import Callable, Sequence
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esper.simic.attribution import (
    coalitions_of_orders,
    compute_shapley,
    draw_orders,
    exact_shapley,
    sampled_shapley,
)

Value = Callable[[frozenset[str]], float]
PLAYERS = ("a", "b", "c", "d", "e")


def game(values: dict[frozenset[str], float]) -> Value:
    return values.__getitem__


@st.composite
def games(draw: st.DrawFn, least: int = 1) -> tuple[tuple[str, ...], Value]:
    """Players, and any value at all for each of their subsets."""
    players = PLAYERS[: draw(st.integers(least, 5))]
    subsets = [
        frozenset(p for i, p in enumerate(players) if mask >> i & 1) for mask in range(2 ** len(players))
    ]
    return players, game({subset: draw(st.floats(-1, 1)) for subset in subsets})


def orders_of(players: Sequence[str], seed: int) -> tuple[tuple[str, ...], ...]:
    return draw_orders(players, 6, torch.Generator().manual_seed(seed))


@given(games(), st.integers(0, 2**31))
def test_shares_sum_to_what_all_add(found: tuple[tuple[str, ...], Value], seed: int) -> None:
    players, value = found
    whole = value(frozenset(players)) - value(frozenset())
    for shares in (exact_shapley(players, value), sampled_shapley(orders_of(players, seed), value)):
        assert math.fsum(shares.values.values()) == pytest.approx(whole, abs=1e-9)
        assert set(shares.values) == set(players)


@given(games(least=2))
def test_players_that_can_be_swapped_get_the_same(found: tuple[tuple[str, ...], Value]) -> None:
    players, value = found
    a, b = players[:2]
    swap = {a: b, b: a}

    def same(coalition: frozenset[str]) -> float:
        return value(coalition) + value(frozenset(swap.get(player, player) for player in coalition))

    shares = exact_shapley(players, same).values
    assert shares[a] == pytest.approx(shares[b], abs=1e-12)


@given(games(), st.floats(-1, 1), st.integers(0, 2**31))
def test_who_adds_the_same_to_everyone_gets_just_that(
    found: tuple[tuple[str, ...], Value], worth: float, seed: int
) -> None:
    players, value = found
    guest = "guest"

    def with_guest(coalition: frozenset[str]) -> float:
        return value(coalition - {guest}) + (worth if guest in coalition else 0.0)

    everyone = (*players, guest)
    for shares in (
        exact_shapley(everyone, with_guest),
        sampled_shapley(orders_of(everyone, seed), with_guest),
    ):
        assert shares.values[guest] == pytest.approx(worth, abs=1e-9)


@given(games())
def test_a_sample_of_every_order_is_exact(found: tuple[tuple[str, ...], Value]) -> None:
    players, value = found
    players = players[:4]
    orders = [item for order in permutations(players) for item in (order, order[::-1])]
    assert sampled_shapley(orders, value).values == pytest.approx(
        exact_shapley(players, value).values, abs=1e-9
    )


@given(games(), st.integers(0, 2**31))
def test_only_the_announced_subsets_are_asked_for(found: tuple[tuple[str, ...], Value], seed: int) -> None:
    players, value = found
    orders = orders_of(players, seed)
    announced = {coalition: value(coalition) for coalition in coalitions_of_orders(orders)}
    assert sampled_shapley(orders, game(announced)) == sampled_shapley(orders, value)


def test_a_sample_tells_how_far_off_it_may_be() -> None:
    def worth(coalition: frozenset[str]) -> float:
        return float(len(coalition) ** 2 + 3 * ("a" in coalition and "b" in coalition))

    exact, found = exact_shapley(PLAYERS, worth), sampled_shapley(orders_of(PLAYERS, 3), worth)
    assert exact.standard_errors == {}
    for player in PLAYERS:
        assert abs(found.values[player] - exact.values[player]) <= 4 * found.standard_errors[player] + 1e-9
    assert math.isinf(sampled_shapley(orders_of(PLAYERS, 3)[:2], worth).standard_errors["a"])


def test_orders_choose_the_method() -> None:
    def worth(coalition: frozenset[str]) -> float:
        return float(len(coalition))

    assert compute_shapley(PLAYERS, (), worth).method == "exact"
    assert compute_shapley(PLAYERS, orders_of(PLAYERS, 0), worth).method == "sampled"


def test_orders_come_with_their_backwards_and_follow_from_the_generator() -> None:
    orders = orders_of(PLAYERS, 1)
    assert orders == orders_of(PLAYERS, 1) != orders_of(PLAYERS, 2)
    assert all(order[::-1] == backwards for order, backwards in zip(orders[::2], orders[1::2], strict=True))
    with pytest.raises(ValueError, match="orders come in pairs; 3 is no even number above 0"):
        draw_orders(PLAYERS, 3, torch.Generator())
