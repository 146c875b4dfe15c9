"""What each mode looks at, what it ignores, and within which bounds it stays."""

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
    RewardConfig,
    RewardFamily,
    RewardInputs,
    RewardMode,
    compute_loss_reward,
    compute_reward,
)
from tests.esper.simic.rewards.helpers import inputs
from tests.esper.tamiyo.helpers import report, signals

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


@given(steps(), steps())
def test_sparse_sees_only_the_accuracy_at_the_end(step: RewardInputs, other: RewardInputs) -> None:
    assert rewarded(step, RewardMode.SPARSE) == rewarded(
        replace(other, signals=step.signals), RewardMode.SPARSE
    )
    assert 0.0 <= rewarded(step, RewardMode.SPARSE) <= 5.0
    if not step.is_last:
        assert rewarded(step, RewardMode.SPARSE) == 0.0


@given(steps(), steps())
def test_minimal_sees_the_operation_and_the_accuracy_at_the_end(
    step: RewardInputs, other: RewardInputs
) -> None:
    same = replace(other, signals=step.signals, op=step.op, success=step.success)
    assert rewarded(step, RewardMode.MINIMAL) == rewarded(same, RewardMode.MINIMAL)
    assert -0.05 <= rewarded(step, RewardMode.MINIMAL) <= 5.0


@given(steps(), steps())
def test_basic_sees_the_rise_of_accuracy_and_the_size(step: RewardInputs, other: RewardInputs) -> None:
    same = replace(other, signals=step.signals, rent=step.rent)
    assert rewarded(step, RewardMode.BASIC) == rewarded(same, RewardMode.BASIC)
    assert rewarded(step, RewardMode.BASIC) <= 10.0


@given(steps(), steps())
def test_simplified_ignores_size_shock_shaping_and_scaffolds(step: RewardInputs, other: RewardInputs) -> None:
    same = replace(step, rent=other.rent, after=other.after, scaffold_credit=other.scaffold_credit)
    assert rewarded(step, RewardMode.SIMPLIFIED) == rewarded(same, RewardMode.SIMPLIFIED)


@given(steps(), st.floats(0, 1))
def test_only_shaped_and_escrow_pay_scaffolds(step: RewardInputs, credit: float) -> None:
    for mode in RewardMode:
        more = rewarded(replace(step, scaffold_credit=step.scaffold_credit + credit), mode)
        expected = credit if mode in (RewardMode.SHAPED, RewardMode.ESCROW) else 0.0
        assert more - rewarded(step, mode) == pytest.approx(expected, abs=1e-9)


@given(steps())
def test_only_escrow_keeps_accounts(step: RewardInputs) -> None:
    for mode in RewardMode:
        accounts = compute_reward(step, RewardConfig(mode=mode)).escrow
        assert all(0.0 <= value <= 50.0 for value in accounts.values())
        if mode is not RewardMode.ESCROW:
            assert accounts == {}


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


def test_modes_that_pay_at_the_end_are_those_with_a_terminal_part() -> None:
    for mode in RewardMode:
        config = RewardConfig(mode=mode)
        assert config.pays_at_end == ("terminal" in compute_reward(inputs(), config).components)
    assert not RewardConfig(family=RewardFamily.LOSS).pays_at_end


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
