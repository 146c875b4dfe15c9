"""Text as a task, and the ways in which batches reach the hosts."""

from typing import Any

import pytest

from esper.leyline import TOPOLOGY_BLUEPRINTS
from tests.esper.simic.conftest import Events, Run, of_type


def test_a_text_task_counts_characters_and_grows_what_fits_a_transformer(run: Run) -> None:
    events, _ = run(task="char_lm", envs=3, episode_length=5, train_images=40, val_images=10, seed=1)
    epochs = of_type(events, "EPOCH_COMPLETED")
    assert {(e["data"]["train_samples"], e["data"]["val_samples"]) for e in epochs} == {(40 * 64, 10 * 64)}
    assert all(2.0 < event["data"]["val_loss"] < 4.5 for event in epochs)
    for event in epochs:
        assert event["data"]["val_accuracy"] * 640 == pytest.approx(
            round(event["data"]["val_accuracy"] * 640)
        )
    grown = {event["data"]["blueprint"] for event in of_type(events, "SEED_GERMINATED")}
    assert grown
    assert grown <= set(TOPOLOGY_BLUEPRINTS["transformer"])


def test_workers_change_nothing_and_preloading_only_the_augmentation(run: Run) -> None:
    def epochs(**settings: Any) -> Events:
        events, _ = run(envs=2, episode_length=2, **settings)
        return of_type(events, "EPOCH_COMPLETED")

    plain = epochs()
    assert epochs(num_workers=2) == plain
    assert epochs(gpu_preload=True, gpu_preload_augment=True) == plain
    assert epochs(gpu_preload=True) != plain
