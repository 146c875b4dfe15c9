"""Escrow: paid in advance, paid back by seeds that don't stay."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esper.leyline import CONTRIBUTING_STAGES, LIVE_STAGES, SeedStage, SeedStateReport
from esper.simic.rewards import RewardBreakdown, RewardConfig, RewardMode, compute_reward
from tests.esper.simic.rewards.helpers import inputs
from tests.esper.tamiyo.helpers import report, signals

CONFIG = RewardConfig(mode=RewardMode.ESCROW)


def play(life: list[dict[str, SeedStateReport]]) -> list[RewardBreakdown]:
    """An episode: what the slots held after each step."""
    escrow: dict[str, float] = {}
    found = []
    for epoch, after in enumerate(life, start=1):
        step = inputs(after=after, escrow=escrow, signals=signals(*[0.9] * epoch, max_epochs=len(life)))
        found.append(compute_reward(step, CONFIG))
        escrow = dict(found[-1].escrow)
    return found


def paid(found: list[RewardBreakdown]) -> list[float]:
    return [step.components["escrow"] for step in found]


def seed(stage: SeedStage, value: float = 0.1, **changes: object) -> dict[str, SeedStateReport]:
    return {"r0c1": report(stage=stage, contribution=value, previous_contribution=value, **changes)}


def test_a_seed_that_stays_keeps_what_was_advanced() -> None:
    steps = [
        seed(SeedStage.TRAINING),
        seed(SeedStage.HOLDING),
        seed(SeedStage.FOSSILIZED),
        seed(SeedStage.FOSSILIZED),
    ]
    assert paid(play(steps)) == pytest.approx([0.0, 5.0, 0.0, 0.0])


def test_a_pruned_seed_pays_back_all_it_got() -> None:
    steps = [
        seed(SeedStage.BLENDING, 0.02),
        seed(SeedStage.HOLDING, 0.1),
        seed(SeedStage.PRUNED, 0.1),
        {},
        {},
    ]
    assert paid(play(steps)) == pytest.approx([1.0, 4.0, -5.0, 0.0, 0.0])


def test_a_seed_that_is_not_permanent_at_the_end_pays_back() -> None:
    assert paid(play([seed(SeedStage.HOLDING), seed(SeedStage.HOLDING)])) == pytest.approx([5.0, -5.0])


def test_the_next_seed_of_a_slot_has_an_account_of_its_own() -> None:
    after = seed(SeedStage.HOLDING, 0.02, seed_id="r0c1-2")
    steps = play([seed(SeedStage.HOLDING), after, after])
    assert steps[1].escrow == pytest.approx({"r0c1-2": 1.0})
    assert steps[1].components["escrow"] == pytest.approx(-4.0)


def test_one_lucky_epoch_advances_nothing() -> None:
    lucky = {"r0c1": report(contribution=0.2, previous_contribution=None)}
    second = {"r0c1": report(contribution=0.2, previous_contribution=0.03)}
    assert paid(play([lucky, second, {}])) == pytest.approx([0.0, 1.5, -1.5])


def test_no_more_is_advanced_than_accuracy_rose() -> None:
    assert paid(play([seed(SeedStage.HOLDING, 0.5, accuracy_at_germination=0.88), {}])) == pytest.approx(
        [1.0, -1.0]
    )


stages = st.sampled_from(sorted(LIVE_STAGES | {SeedStage.PRUNED}))


@given(st.lists(st.tuples(stages, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)), min_size=1, max_size=12))
def test_payments_of_an_episode_sum_to_what_permanent_seeds_are_worth(
    life: list[tuple[SeedStage, float, float]],
) -> None:
    steps = [
        {"r0c1": report(stage=stage, contribution=now, previous_contribution=before)}
        for stage, now, before in life
    ]
    found = play(steps)
    last_stage, now, before = life[-1]
    stays = last_stage is SeedStage.FOSSILIZED
    assert math.fsum(paid(found)) == pytest.approx(
        50.0 * max(0.0, min(now, before)) if stays else 0.0, abs=1e-9
    )
    assert all(
        step.escrow == {}
        for step, part in zip(found, life, strict=True)
        if part[0] not in CONTRIBUTING_STAGES
    )
