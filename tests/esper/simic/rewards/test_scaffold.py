"""Credit in hindsight: who helped a seed that then became permanent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esper.leyline import SeedStage, SeedStateReport
from esper.simic.rewards import RewardConfig, ScaffoldLedger, compute_scaffold_hindsight_credit
from tests.esper.tamiyo.helpers import report

CONFIG = RewardConfig()
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
    credit = compute_scaffold_hindsight_credit(boost, improvement, delay, CONFIG)
    assert 0.0 <= credit <= CONFIG.max_scaffold_credit
    assert (credit > 0.0) == (min(boost, improvement) > 0.0)


@given(st.floats(0.0, 0.5), st.floats(0.0, 0.5), st.floats(0.0, 0.5), delays)
def test_more_help_is_never_worth_less_and_longer_ago_never_more(
    boost: float, more: float, improvement: float, delay: int
) -> None:
    credit = compute_scaffold_hindsight_credit(boost, improvement, delay, CONFIG)
    assert compute_scaffold_hindsight_credit(boost + more, improvement, delay, CONFIG) >= credit
    assert compute_scaffold_hindsight_credit(boost, improvement, delay + 1, CONFIG) <= credit


def test_the_older_seed_gets_credit_when_the_younger_becomes_permanent() -> None:
    ledger = ScaffoldLedger()
    for epoch, interaction in ((5, 0.01), (6, 0.03)):
        ledger.record(epoch, {("r0c0", "r0c1"): interaction}, pair())
    [credit] = ledger.settle(8, pair(), pair(SeedStage.FOSSILIZED), 0.9, CONFIG)
    assert (credit.slot_id, credit.seed_id, credit.beneficiary) == ("r0c0", "r0c0-1", "r0c1-1")
    assert (credit.boost, credit.delay) == (pytest.approx(0.02), 2)
    assert credit.credit == pytest.approx(10.0 * 0.02 * 0.9**2)
    assert ledger.settle(9, pair(), pair(SeedStage.FOSSILIZED), 0.9, CONFIG) == ()


def test_the_younger_gets_none_when_the_older_becomes_permanent() -> None:
    ledger = ScaffoldLedger()
    ledger.record(5, {("r0c0", "r0c1"): 0.03}, pair())
    after = pair(stage=SeedStage.HOLDING) | {"r0c0": report("r0c0", SeedStage.FOSSILIZED)}
    assert ledger.settle(6, pair(), after, 0.9, CONFIG) == ()


def test_a_helper_that_was_pruned_since_gets_its_credit() -> None:
    ledger = ScaffoldLedger()
    ledger.record(5, {("r0c0", "r0c1"): 0.03}, pair())
    gone = {"r0c1": pair(SeedStage.FOSSILIZED)["r0c1"]}
    [credit] = ledger.settle(6, {"r0c1": pair()["r0c1"]}, gone, 0.9, CONFIG)
    assert credit.slot_id == "r0c0"


def test_a_seed_that_hindered_gets_nothing() -> None:
    ledger = ScaffoldLedger()
    ledger.record(5, {("r0c0", "r0c1"): -0.03}, pair())
    assert ledger.settle(5, pair(), pair(SeedStage.FOSSILIZED), 0.9, CONFIG) == ()


def test_a_seed_that_stays_permanent_is_credited_once() -> None:
    ledger = ScaffoldLedger()
    permanent = pair(SeedStage.FOSSILIZED)
    ledger.record(5, {("r0c0", "r0c1"): 0.03}, permanent)
    assert ledger.settle(5, permanent, permanent, 0.9, CONFIG) == ()
