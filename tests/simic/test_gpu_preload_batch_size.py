"""Preloaded data comes in the task's batches: as large for every env, however many there are."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from esper.leyline.task import Loading
from esper.tolaria.data import SharedBatchIterator
from esper.tolaria.images import ImageData
from tests.esper.simic.conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]

CPU = torch.device("cpu")


@pytest.mark.parametrize("envs", [1, 2, 5])
@pytest.mark.parametrize("augment", [False, True])
def test_a_batch_is_not_shared_out_among_the_envs(envs: int, augment: bool) -> None:
    data = ImageData(
        torch.zeros(70, 40, 40, 3, dtype=torch.uint8),
        torch.arange(70),
        torch.zeros(9, 32, 32, 3, dtype=torch.uint8),
        torch.arange(9),
    )
    generators = [torch.Generator().manual_seed(seed) for seed in range(envs)]
    batches = SharedBatchIterator(data, 32, [CPU] * envs, generators, Loading(preload=True, augment=augment))
    sizes = [[len(targets) for _, targets in step] for step in batches]
    assert sizes == [[32] * envs, [32] * envs, [6] * envs]
    assert len(batches) == 3


def test_a_host_takes_as_many_steps_an_epoch_from_preloaded_data(run: Run) -> None:
    def steps(**settings: Any) -> list[int]:
        events, _ = run(
            episode_length=1, train_images=130, telemetry_level="debug", gradient_stride=1, **settings
        )
        return [event["data"]["batches"] for event in of_type(events, "HOST_GRADIENT_NORMS")]

    assert steps(envs=1) == steps(envs=1, gpu_preload=True) == [3]
    assert steps(envs=3, gpu_preload=True) == [3, 3, 3]
