"""Which configurations are compared, and what follows from their accuracies."""

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esper.simic.attribution import (
    EXACT_LIMIT,
    SAMPLED_ORDERS,
    CounterfactualMatrix,
    alpha_overrides,
    coalition_name,
    epoch_coalitions,
    final_coalitions,
    most_coalitions,
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


def test_configurations_are_named_by_their_slots_in_the_hosts_order() -> None:
    assert coalition_name(frozenset({"r0c2", "r0c0"}), SLOTS) == "r0c0+r0c2"
    assert coalition_name(frozenset(), SLOTS) == "none"


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


def test_an_exact_episode_draws_no_random_number() -> None:
    generator = torch.Generator().manual_seed(1)
    before = generator.get_state()
    final_coalitions(SLOTS[:EXACT_LIMIT], generator)
    assert torch.equal(generator.get_state(), before)


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


def test_accuracies_that_don_t_fit_the_configurations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        CounterfactualMatrix.of(SLOTS[:1], epoch_coalitions(SLOTS[:1]), [0.5])
