"""Preloaded data comes in the task's batches: as large for every env, however many there are."""

from typing import Any

from tests.esper.simic.conftest import Run, of_type


def test_a_host_takes_as_many_steps_an_epoch_from_preloaded_data(run: Run) -> None:
    def steps(**settings: Any) -> list[int]:
        events, _ = run(
            episode_length=1, train_images=130, telemetry_level="debug", gradient_stride=1, **settings
        )
        return [event["data"]["batches"] for event in of_type(events, "HOST_GRADIENT_NORMS")]

    assert steps(envs=1) == steps(envs=1, gpu_preload=True) == [3]
    assert steps(envs=3, gpu_preload=True) == [3, 3, 3]
