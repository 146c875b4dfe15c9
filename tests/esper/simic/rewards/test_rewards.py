"""What decisions are worth."""

import math

import pytest

from esper.leyline import LifecycleOp, SeedStage
from esper.simic.rewards import (
    RentAndShock,
    RewardBreakdown,
    RewardConfig,
    RewardFamily,
    RewardInputs,
    RewardMode,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from tests.esper.simic.rewards.helpers import inputs
from tests.esper.tamiyo.helpers import report, signals


def reward(found: RewardInputs, mode: RewardMode = RewardMode.SHAPED) -> RewardBreakdown:
    return compute_reward(found, RewardConfig(mode=mode))


@pytest.mark.parametrize("mode", RewardMode)
def test_parts_sum_to_the_reward_in_every_mode(mode: RewardMode) -> None:
    held = {"r0c1": report()}
    found = inputs(
        LifecycleOp.FOSSILIZE,
        before=held,
        after=held,
        rent=RentAndShock(500.0, 0.3),
        signals=signals(0.2, 0.5),
    )
    breakdown = reward(found, mode)
    assert breakdown.total == pytest.approx(sum(breakdown.components.values()))
    assert breakdown.components


def test_waiting_with_no_seed_is_worth_nothing() -> None:
    assert reward(inputs()).total == 0.0


def test_seeds_that_take_part_are_worth_what_they_contribute() -> None:
    helping = {"r0c1": report(contribution=0.05)}
    hurting = {"r0c1": report(contribution=-0.05)}
    learning = {"r0c1": report(stage=SeedStage.TRAINING, contribution=0.05)}
    values = [
        reward(inputs(before=slots, after=slots)).components["contribution"]
        for slots in (helping, hurting, learning)
    ]
    assert values == pytest.approx([0.5, -0.5, 0.0])


def test_going_and_coming_back_earns_nothing() -> None:
    training = {"r0c1": report(stage=SeedStage.TRAINING)}
    gone = {"r0c1": report(stage=SeedStage.PRUNED)}
    there = reward(inputs(LifecycleOp.GERMINATE, after=training)).components["potential"]
    back = reward(inputs(LifecycleOp.PRUNE, before=training, after=gone)).components["potential"]
    assert there > 0
    assert there + back == pytest.approx(0.0)


def test_fossilizing_pays_above_the_floor_and_costs_below() -> None:
    good, poor = (
        reward(inputs(LifecycleOp.FOSSILIZE, before={"r0c1": report(contribution=value)})).components
        for value in (0.03, 0.0)
    )
    assert good["fossilize"] > 0 > poor["fossilize"]


def test_pruning_what_hurts_pays_and_what_helps_costs() -> None:
    helping, hurting = (
        reward(inputs(LifecycleOp.PRUNE, before={"r0c1": report(contribution=value)})).components
        for value in (0.03, -0.03)
    )
    assert helping["prune"] < 0 < hurting["prune"]


def test_a_failed_operation_costs_more_than_a_successful_one_and_has_no_effect() -> None:
    held = {"r0c1": report()}
    failed = reward(inputs(LifecycleOp.FOSSILIZE, before=held, success=False)).components
    done = reward(inputs(LifecycleOp.FOSSILIZE, before=held)).components
    assert failed["op_cost"] < done["op_cost"] < 0
    assert failed["fossilize"] == 0.0


def test_only_the_last_step_pays_for_the_accuracy_reached() -> None:
    last = reward(inputs(signals=signals(0.3, 0.6, max_epochs=2)), RewardMode.SPARSE)
    before = reward(inputs(signals=signals(0.3, 0.6, max_epochs=3)), RewardMode.SPARSE)
    assert (last.total, before.total) == (3.0, 0.0)


def test_rent_grows_with_the_seeds_and_shock_with_the_jumps() -> None:
    slots = {"r0c0": report("r0c0", alpha=0.5), "r0c2": report("r0c2", SeedStage.PRUNED, alpha=0.0)}
    found = compute_rent_and_shock_inputs(slots, {"r0c0": 0.2, "r0c2": 1.0})
    assert found.effective_seed_params == 100.0
    assert found.alpha_shock == pytest.approx(0.09 + 1.0)
    parts = reward(inputs(rent=found)).components
    assert parts["rent"] < 0
    assert parts["alpha_shock"] == pytest.approx(-0.109)


def test_a_steady_host_pays_no_shock() -> None:
    slots = {"r0c0": report("r0c0")}
    assert compute_rent_and_shock_inputs(slots, {"r0c0": 1.0}).alpha_shock == 0.0


def test_falling_loss_pays_and_a_broken_one_costs_the_most() -> None:
    config = RewardConfig(family=RewardFamily.LOSS)

    def loss_part(*losses: float) -> float:
        found = inputs(signals=signals(*[0.1] * len(losses), losses=losses))
        return compute_loss_reward(found, config).components["loss"]

    assert loss_part(2.0, 1.5) == pytest.approx(0.5)
    assert loss_part(1.5, 2.0) == pytest.approx(-0.5)
    assert loss_part(1.5, math.nan) == loss_part(1.5, math.inf) == loss_part(1.5, 90.0) == -2.0
