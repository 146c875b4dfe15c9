"""The watchdog: what counts as broken, and when it acts."""

import math

import pytest

from esper.tolaria.governor import Governor

CHANCE = math.log(10)


def trained(accuracy: float = 0.6, epochs: int = 6) -> Governor[str]:
    """A governor that has seen some healthy epochs."""
    governor: Governor[str] = Governor(10)
    for epoch in range(epochs):
        assert governor.judge(1.2 - 0.02 * epoch, accuracy) is None
    return governor


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_rolls_back_at_once(loss: float) -> None:
    verdict = trained().judge(loss, 0.1)
    assert verdict is not None
    assert (verdict.symptom, verdict.rollback, verdict.consecutive) == ("nonfinite", True, 1)


@pytest.mark.parametrize(
    ("loss", "accuracy", "symptom"), [(13.0, 0.5, "diverged"), (2.4, 0.2, "collapse"), (3.5, 0.5, "outlier")]
)
def test_other_symptoms_act_only_when_they_repeat(loss: float, accuracy: float, symptom: str) -> None:
    governor = trained()
    first, second = governor.judge(loss, accuracy), governor.judge(loss, accuracy)
    assert first is not None
    assert (first.symptom, first.rollback) == (symptom, False)
    assert second is not None
    assert (second.rollback, second.consecutive) == (True, 2)


def test_a_healthy_epoch_between_starts_the_count_afresh() -> None:
    governor = trained()
    governor.judge(13.0, 0.5)
    assert governor.judge(1.1, 0.6) is None
    again = governor.judge(13.0, 0.5)
    assert again is not None
    assert not again.rollback


def test_a_host_that_has_not_learnt_cannot_collapse() -> None:
    governor: Governor[str] = Governor(10)
    assert [governor.judge(CHANCE + 0.1 * step, 0.15 / step) for step in (1, 2, 3)] == [None] * 3


def test_a_worse_epoch_is_not_a_panic() -> None:
    assert trained().judge(2.0, 0.35) is None


def test_after_a_rollback_the_count_starts_afresh() -> None:
    governor = trained()
    governor.judge(13.0, 0.5)
    governor.rolled_back()
    again = governor.judge(13.0, 0.5)
    assert again is not None
    assert again.consecutive == 1
