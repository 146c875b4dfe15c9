"""What the policy is told."""

import math

import pytest
import torch

from esper.leyline import SeedStage, SlotConfig
from esper.tamiyo import batch_obs_to_features, feature_size
from tests.esper.tamiyo.helpers import report, signals

SLOTS = SlotConfig()


def test_the_tracker_sums_up_the_epochs() -> None:
    last = signals(0.2, 0.5, 0.4, 0.45)
    assert last.accuracy_delta == pytest.approx(0.05)
    assert last.loss_delta == pytest.approx(-0.05)
    assert last.best_val_accuracy == 0.5
    assert last.epochs_since_improvement == 2
    assert last.accuracy_history == (0.2, 0.5, 0.4, 0.45)


def test_the_first_epoch_has_no_deltas_and_history_is_bounded() -> None:
    assert signals(0.3).accuracy_delta == signals(0.3).loss_delta == 0.0
    assert signals(*[0.1 * i for i in range(8)]).accuracy_history == pytest.approx((0.3, 0.4, 0.5, 0.6, 0.7))


def test_an_observation_has_the_announced_size_and_does_not_depend_on_its_neighbours() -> None:
    busy = {"r0c0": report("r0c0", SeedStage.TRAINING, contribution=None, previous_contribution=None)}
    first = batch_obs_to_features([signals(0.2)], [busy], SLOTS, host_params=6000)
    both = batch_obs_to_features([signals(0.2), signals(0.9)], [busy, {}], SLOTS, host_params=6000)
    assert first.shape == (1, feature_size(SLOTS))
    assert torch.equal(first[0], both[0])
    assert not torch.equal(both[0], both[1])


@pytest.mark.parametrize(
    "change",
    [
        {"stage": SeedStage.BLENDING},
        {"blueprint": "norm"},
        {"alpha": 0.5},
        {"contribution": -0.1},
        {"contribution": None},
        {"leaving": True},
        {"epochs_in_stage": 5},
        {"seed_parameters": 9000},
        {"accuracy_at_germination": 0.1},
    ],
)
def test_whatever_matters_about_a_seed_can_be_seen(change: dict[str, object]) -> None:
    plain, changed = (
        batch_obs_to_features([signals(0.4)], [{"r0c1": item}], SLOTS, host_params=6000)
        for item in (report(), report(**change))
    )
    assert not torch.equal(plain, changed)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 1e30])
def test_a_diverged_host_is_still_seen_as_small_numbers(loss: float) -> None:
    seen = batch_obs_to_features([signals(0.1, 0.1, losses=(2.3, loss))], [{}], SLOTS, host_params=6000)
    assert seen.isfinite().all()
    assert seen.abs().max() <= 10.0
