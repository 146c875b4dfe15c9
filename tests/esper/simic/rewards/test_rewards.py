"""Worth of decisions: the parts of a reward, and what each mode looks at."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esper.leyline import LifecycleOp, SeedStage, SeedStateReport
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
from tests.esper.tamiyo.helpers import report, signals

NO_RENT = RentAndShock(0.0, 0.0)


def inputs(op: LifecycleOp = LifecycleOp.WAIT, **changes: Any) -> RewardInputs:
    """A step of ten, the second, on slot r0c1."""
    values: dict[str, Any] = {
        "op": op,
        "success": True,
        "slot_id": "r0c1",
        "before": {},
        "after": {},
        "signals": signals(0.3, 0.4),
        "host_params": 6000,
        "rent": NO_RENT,
    }
    return RewardInputs(**values | changes)


def reward(found: RewardInputs, mode: RewardMode = RewardMode.SHAPED) -> RewardBreakdown:
    return compute_reward(found, RewardConfig(mode=mode))


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


def test_rent_grows_with_the_seeds_and_shock_with_the_jumps() -> None:
    slots = {"r0c0": report("r0c0", alpha=0.5), "r0c2": report("r0c2", SeedStage.PRUNED, alpha=0.0)}
    found = compute_rent_and_shock_inputs(slots, {"r0c0": 0.2, "r0c2": 1.0})
    assert found.effective_seed_params == 100.0
    assert found.alpha_shock == pytest.approx(0.09 + 1.0)
    parts = reward(inputs(rent=found)).components
    assert parts["rent"] < 0
    assert parts["alpha_shock"] == pytest.approx(-0.109)


def test_falling_loss_pays_and_a_broken_one_costs_the_most() -> None:
    config = RewardConfig(family=RewardFamily.LOSS)

    def loss_part(*losses: float) -> float:
        found = inputs(signals=signals(*[0.1] * len(losses), losses=losses))
        return compute_loss_reward(found, config).components["loss"]

    assert loss_part(2.0, 1.5) == pytest.approx(0.5)
    assert loss_part(1.5, 2.0) == pytest.approx(-0.5)
    assert loss_part(1.5, math.nan) == loss_part(1.5, math.inf) == loss_part(1.5, 90.0) == -2.0


DOCUMENT = Path(__file__).parents[4] / "docs" / "reference" / "rewards.md"

fractions = st.floats(0.0, 1.0)
contributions = st.none() | st.floats(-1.0, 1.0)


@st.composite
def slots(draw: st.DrawFn) -> dict[str, SeedStateReport]:
    names = draw(st.lists(st.sampled_from(["r0c0", "r0c1", "r0c2"]), unique=True))
    return {
        name: report(
            name,
            draw(st.sampled_from([stage for stage in SeedStage if stage is not SeedStage.DORMANT])),
            contribution=draw(contributions),
            previous_contribution=draw(contributions),
            accuracy_at_germination=draw(fractions),
            alpha=draw(fractions),
        )
        for name in names
    }


@st.composite
def steps(draw: st.DrawFn) -> RewardInputs:
    accuracies = draw(st.lists(fractions, min_size=1, max_size=3))
    losses = tuple(draw(st.floats(0, 20)) for _ in accuracies)
    return inputs(
        draw(st.sampled_from(list(LifecycleOp))),
        success=draw(st.booleans()),
        before=draw(slots()),
        after=draw(slots()),
        signals=signals(*accuracies, losses=losses, max_epochs=draw(st.sampled_from([len(accuracies), 9]))),
        rent=RentAndShock(draw(st.floats(0, 1e6)), draw(st.floats(0, 3))),
        scaffold_credit=draw(st.floats(0, 1.5)),
    )


def rewarded(step: RewardInputs, mode: RewardMode, **settings: Any) -> float:
    return compute_reward(step, RewardConfig(mode=mode, **settings)).total


@given(steps(), st.sampled_from(RewardMode))
def test_every_mode_is_finite_and_the_sum_of_its_parts(step: RewardInputs, mode: RewardMode) -> None:
    breakdown = compute_reward(step, RewardConfig(mode=mode))
    assert math.isfinite(breakdown.total)
    assert breakdown.total == math.fsum(breakdown.components.values())


SEEN = {
    RewardMode.SPARSE: ({"signals"}, 0.0, 5.0),
    RewardMode.MINIMAL: ({"signals", "op", "success"}, -0.05, 5.0),
    RewardMode.BASIC: ({"signals", "rent", "host_params"}, -math.inf, 10.0),
    RewardMode.SIMPLIFIED: ({"signals", "op", "success", "before"}, -math.inf, math.inf),
}
"""What of a step a mode looks at, and within which bounds it stays."""


@given(steps(), steps(), st.sampled_from(list(SEEN)))
def test_a_mode_sees_this_and_no_more(step: RewardInputs, other: RewardInputs, mode: RewardMode) -> None:
    seen, least, most = SEEN[mode]
    same = replace(other, **{name: getattr(step, name) for name in seen})
    assert rewarded(step, mode) == rewarded(same, mode)
    assert least <= rewarded(step, mode) <= most
    if mode is RewardMode.SPARSE and not step.is_last:
        assert rewarded(step, mode) == 0.0


@given(steps(), st.floats(0, 1))
def test_only_shaped_and_escrow_pay_scaffolds(step: RewardInputs, credit: float) -> None:
    for mode in RewardMode:
        more = rewarded(replace(step, scaffold_credit=step.scaffold_credit + credit), mode)
        expected = credit if mode in (RewardMode.SHAPED, RewardMode.ESCROW) else 0.0
        assert more - rewarded(step, mode) == pytest.approx(expected, abs=1e-9)


@given(steps())
def test_rent_shock_and_operations_never_pay(step: RewardInputs) -> None:
    for parts in (
        compute_reward(step, RewardConfig()).components,
        compute_loss_reward(step, RewardConfig(family=RewardFamily.LOSS)).components,
    ):
        assert max(parts["rent"], parts["alpha_shock"], parts["op_cost"]) <= 0.0


@given(steps(), steps())
def test_loss_sees_losses_size_shock_and_the_operation(step: RewardInputs, other: RewardInputs) -> None:
    config = RewardConfig(family=RewardFamily.LOSS)
    same = replace(other, signals=step.signals, rent=step.rent, op=step.op, success=step.success)
    first, second = compute_loss_reward(step, config), compute_loss_reward(same, config)
    assert first == second
    assert abs(first.components["loss"]) <= 2.0


def test_the_document_lists_the_parts_of_every_mode_and_explains_them_all() -> None:
    text = DOCUMENT.read_text()
    listed = {
        mode: tuple(parts.split(", "))
        for mode, parts in re.findall(r"^\| `(\w+)` \| ([\w, ]+) \|$", text, re.M)
    }
    real = {
        mode.value: tuple(compute_reward(inputs(), RewardConfig(mode=mode)).components) for mode in RewardMode
    }
    assert listed == real
    [of_loss] = re.findall(r"^Parts: (.*)\.$", text, re.M)
    loss_parts = tuple(compute_loss_reward(inputs(), RewardConfig()).components)
    assert tuple(of_loss.split(", ")) == loss_parts
    explained = set(re.findall(r"^\| (\w+) \| ", text, re.M)) - {"mode", "part"}
    assert explained == {*loss_parts, *(part for parts in real.values() for part in parts)}
