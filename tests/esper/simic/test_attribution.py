"""Which configurations are compared, and the shares that follow from their accuracies."""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esper.simic.attribution import (
    EXACT_LIMIT,
    SAMPLED_ORDERS,
    CounterfactualMatrix,
    alpha_overrides,
    draw_orders,
    epoch_coalitions,
    exact_shapley,
    final_coalitions,
    most_coalitions,
    sampled_shapley,
)

SLOTS = tuple(f"r0c{index}" for index in range(6))
slot_counts = st.integers(0, 6)


@pytest.mark.parametrize(("count", "configurations"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 12), (6, 23)])
def test_an_epoch_compares_all_subsets_of_up_to_three_seeds(count: int, configurations: int) -> None:
    found = epoch_coalitions(SLOTS[:count])
    assert len(found) == len(set(found)) == configurations
    assert found[0] == frozenset(SLOTS[:count])
    assert frozenset() in found


def test_switched_off_slots_get_alpha_zero_and_the_others_keep_theirs() -> None:
    overrides = alpha_overrides(epoch_coalitions(SLOTS[:2]), SLOTS[:2])
    assert overrides == [{}, {"r0c0": 0.0}, {"r0c1": 0.0}, {"r0c0": 0.0, "r0c1": 0.0}]


@given(slot_counts, st.integers(0, 2**31))
def test_the_last_epoch_compares_what_every_epoch_does_first_and_never_more_than_room(
    count: int, seed: int
) -> None:
    slots = SLOTS[:count]
    coalitions, orders = final_coalitions(slots, torch.Generator().manual_seed(seed))
    usual = epoch_coalitions(slots)
    assert coalitions[: len(usual)] == usual
    assert len(set(coalitions)) == len(coalitions)
    assert (len(coalitions) == 2**count) == (count <= EXACT_LIMIT) == (not orders)
    for size in range(count + 1):
        assert len(usual) <= most_coalitions(count, SAMPLED_ORDERS)
        assert len(final_coalitions(slots[:size], torch.Generator())[0]) <= most_coalitions(
            count, SAMPLED_ORDERS
        )


def matrix(slots: tuple[str, ...], own: list[float], joint: float) -> CounterfactualMatrix:
    """Seeds that add `own` each, and any two of them `joint` on top."""
    coalitions = epoch_coalitions(slots)
    gains = dict(zip(slots, own, strict=True))
    values = [
        0.2 + sum(gains[slot] for slot in found) + joint * len(list(combinations(found, 2)))
        for found in coalitions
    ]
    return CounterfactualMatrix.of(slots, coalitions, values)


@given(
    st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=6),
    st.floats(-0.05, 0.05),
)
def test_interactions_are_what_two_seeds_add_on_top_of_each(own: list[float], joint: float) -> None:
    slots = SLOTS[: len(own)]
    found = matrix(slots, own, joint)
    assert set(found.interactions()) == set(combinations(slots, 2))
    for value in found.interactions().values():
        assert value == pytest.approx(joint, abs=1e-12)
    for slot, value in found.contributions().items():
        expected = own[slots.index(slot)] + joint * (len(own) - 1)
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_matrix_gives_its_accuracies_by_name() -> None:
    found = matrix(SLOTS[:2], [0.1, 0.2], 0.0)
    assert found.by_name() == pytest.approx({"r0c0+r0c1": 0.5, "r0c1": 0.4, "r0c0": 0.3, "none": 0.2})
    assert (found.full, found.bare) == pytest.approx((0.5, 0.2))


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


@given(games())
def test_a_sample_of_every_order_is_exact(found: tuple[tuple[str, ...], Value]) -> None:
    players, value = found
    players = players[:4]
    orders = [item for order in permutations(players) for item in (order, order[::-1])]
    assert sampled_shapley(orders, value).values == pytest.approx(
        exact_shapley(players, value).values, abs=1e-9
    )


def test_a_sample_tells_how_far_off_it_may_be() -> None:
    def worth(coalition: frozenset[str]) -> float:
        return float(len(coalition) ** 2 + 3 * ("a" in coalition and "b" in coalition))

    exact, found = exact_shapley(PLAYERS, worth), sampled_shapley(orders_of(PLAYERS, 3), worth)
    assert exact.standard_errors == {}
    for player in PLAYERS:
        assert abs(found.values[player] - exact.values[player]) <= 4 * found.standard_errors[player] + 1e-9
    assert math.isinf(sampled_shapley(orders_of(PLAYERS, 3)[:2], worth).standard_errors["a"])


def test_orders_come_with_their_backwards_and_follow_from_the_generator() -> None:
    orders = orders_of(PLAYERS, 1)
    assert orders == orders_of(PLAYERS, 1) != orders_of(PLAYERS, 2)
    assert all(order[::-1] == backwards for order, backwards in zip(orders[::2], orders[1::2], strict=True))
    with pytest.raises(ValueError, match="orders come in pairs; 3 is no even number above 0"):
        draw_orders(PLAYERS, 3, torch.Generator())
