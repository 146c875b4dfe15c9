"""A seed is trained by an optimizer of its own exactly while its module lives."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from esper.leyline import LIVE_STAGES

from ..conftest import Events, Run, of_type

LIVE = {stage.name for stage in LIVE_STAGES}


class Steps:
    """Which optimizers step, in order; those of the policy left out."""

    def __init__(self) -> None:
        self.optimizers: list[torch.optim.Optimizer] = []

    def __call__(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not isinstance(optimizer, torch.optim.Adam):
            self.optimizers.append(optimizer)


@pytest.fixture
def steps() -> Iterator[Steps]:
    recorded = Steps()
    handle = register_optimizer_step_post_hook(recorded)
    yield recorded
    handle.remove()


def by_epoch(steps: Steps, events: Events) -> list[set[int]]:
    """One batch an epoch: the host's optimizer steps first in each."""
    host = steps.optimizers[0]
    epochs: list[set[int]] = []
    for optimizer in steps.optimizers:
        if optimizer is host:
            epochs.append(set())
        epochs[-1].add(id(optimizer))
    assert len(epochs) == len(of_type(events, "EPOCH_COMPLETED"))
    return epochs


def test_every_live_seed_has_one_optimizer_and_no_other_slot_has(run: Run, steps: Steps) -> None:
    events, _ = run(episode_length=20, train_images=32, val_images=16, seed=3)
    epochs = by_epoch(steps, events)
    reported = [event["data"]["seeds"] for event in of_type(events, "EPOCH_COMPLETED")]
    assert of_type(events, "SEED_GERMINATED")
    for optimizers, seeds in zip(epochs, reported, strict=True):
        assert len(optimizers) == 1 + sum(stage in LIVE for stage in seeds.values())
    grown = len(of_type(events, "SEED_GERMINATED"))
    assert 1 < len(set().union(*epochs)) <= 1 + grown


def test_a_rollback_takes_the_optimizers_of_the_seeds_that_it_prunes(run: Run, steps: Steps) -> None:
    events, _ = run(episode_length=8, train_images=32, val_images=16, governor_threshold=0.1)
    rollbacks = of_type(events, "GOVERNOR_ROLLBACK")
    assert any(event["data"]["pruned_slots"] for event in rollbacks)
    for optimizers, event in zip(by_epoch(steps, events), of_type(events, "EPOCH_COMPLETED"), strict=True):
        seeds = event["data"]["seeds"]
        assert len(optimizers) == 1 + sum(stage in LIVE for stage in seeds.values())
