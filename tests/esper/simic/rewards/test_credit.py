"""Credit over time: escrow, paid back by seeds that don't stay, and credit in hindsight for helpers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esper.leyline import CONTRIBUTING_STAGES, LIVE_STAGES, SeedStage, SeedStateReport
from esper.simic.rewards import (
    RewardBreakdown,
    RewardConfig,
    RewardMode,
    ScaffoldLedger,
    compute_reward,
    compute_scaffold_hindsight_credit,
)
from tests.esper.simic.rewards.test_rewards import inputs
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


def test_a_pruned_seed_pays_back_all_it_got() -> None:
    steps = [
        seed(SeedStage.BLENDING, 0.02),
        seed(SeedStage.HOLDING, 0.1),
        seed(SeedStage.PRUNED, 0.1),
        {},
        {},
    ]
    assert paid(play(steps)) == pytest.approx([1.0, 4.0, -5.0, 0.0, 0.0])


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


PLAIN = RewardConfig()
amounts = st.floats(-0.5, 0.5, allow_subnormal=False)
delays = st.integers(0, 50)


def pair(stage: SeedStage = SeedStage.HOLDING, **old: object) -> dict[str, SeedStateReport]:
    """An older seed in the first slot, a younger one in the second."""
    return {
        "r0c0": report("r0c0", epochs_total=9, **old),
        "r0c1": report("r0c1", stage, epochs_total=4, contribution=0.04),
    }


@given(amounts, amounts, delays)
def test_credit_is_bounded_and_needs_both_help_and_success(
    boost: float, improvement: float, delay: int
) -> None:
    credit = compute_scaffold_hindsight_credit(boost, improvement, delay, PLAIN)
    assert 0.0 <= credit <= PLAIN.max_scaffold_credit
    assert (credit > 0.0) == (min(boost, improvement) > 0.0)


@given(st.floats(0.0, 0.5), st.floats(0.0, 0.5), st.floats(0.0, 0.5), delays)
def test_more_help_is_never_worth_less_and_longer_ago_never_more(
    boost: float, more: float, improvement: float, delay: int
) -> None:
    credit = compute_scaffold_hindsight_credit(boost, improvement, delay, PLAIN)
    assert compute_scaffold_hindsight_credit(boost + more, improvement, delay, PLAIN) >= credit
    assert compute_scaffold_hindsight_credit(boost, improvement, delay + 1, PLAIN) <= credit


def test_the_older_seed_gets_credit_when_the_younger_becomes_permanent() -> None:
    ledger = ScaffoldLedger()
    for epoch, interaction in ((5, 0.01), (6, 0.03)):
        ledger.record(epoch, {("r0c0", "r0c1"): interaction}, pair())
    [credit] = ledger.settle(8, pair(), pair(SeedStage.FOSSILIZED), 0.9, PLAIN)
    assert (credit.slot_id, credit.seed_id, credit.beneficiary) == ("r0c0", "r0c0-1", "r0c1-1")
    assert (credit.boost, credit.delay) == (pytest.approx(0.02), 2)
    assert credit.credit == pytest.approx(10.0 * 0.02 * 0.9**2)
    assert ledger.settle(9, pair(), pair(SeedStage.FOSSILIZED), 0.9, PLAIN) == ()


def test_the_younger_gets_none_when_the_older_becomes_permanent() -> None:
    ledger = ScaffoldLedger()
    ledger.record(5, {("r0c0", "r0c1"): 0.03}, pair())
    after = pair(stage=SeedStage.HOLDING) | {"r0c0": report("r0c0", SeedStage.FOSSILIZED)}
    assert ledger.settle(6, pair(), after, 0.9, PLAIN) == ()


def test_a_helper_that_was_pruned_since_gets_its_credit() -> None:
    ledger = ScaffoldLedger()
    ledger.record(5, {("r0c0", "r0c1"): 0.03}, pair())
    gone = {"r0c1": pair(SeedStage.FOSSILIZED)["r0c1"]}
    [credit] = ledger.settle(6, {"r0c1": pair()["r0c1"]}, gone, 0.9, PLAIN)
    assert credit.slot_id == "r0c0"
