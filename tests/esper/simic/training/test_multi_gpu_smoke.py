"""Hosts spread over several devices."""

import pytest
import torch

from ..conftest import Events, Run, of_type


def own(events: Events) -> Events:
    """The events of envs, which say nothing of where they were computed."""
    return [event for event in events if event["env"] is not None]


def test_naming_one_device_twice_changes_nothing(run: Run) -> None:
    plain, _ = run(envs=2, episode_length=2)
    spread, _ = run(envs=2, episode_length=2, devices=("cpu", "cpu"))
    assert own(plain) == own(spread)


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_hosts_train_on_two_devices(run: Run) -> None:
    devices = ("cuda:0", "cuda:1")
    events, _ = run(envs=4, episode_length=4, device="cuda:0", devices=devices, telemetry_level="debug")
    assert of_type(events, "RUN_STARTED")[0]["data"]["device"] == "cuda:0, cuda:1"
    assert len(of_type(events, "HOST_GRADIENT_NORMS")) == 16
    again, _ = run(envs=4, episode_length=4, device="cuda:0", devices=devices, telemetry_level="debug")
    assert own(events) == own(again)


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 1, reason="needs a CUDA device")
def test_hosts_train_on_a_gpu_and_a_cpu(run: Run) -> None:
    events, _ = run(envs=2, episode_length=3, device="cuda:0", devices=("cuda:0", "cpu"))
    on_cpu, _ = run(envs=2, episode_length=1)
    first = [of_type(part, "EPOCH_COMPLETED")[1]["data"]["val_loss"] for part in (events, on_cpu)]
    assert first[0] == pytest.approx(first[1], rel=1e-4)
