"""Questions that only a CUDA device can answer; where there is none each test is skipped."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from esper.runtime import get_task_spec
from esper.simic.agent import PPOAgent, PPOConfig
from esper.simic.training.config import TrainingConfig
from esper.simic.training.vectorized import train_ppo_vectorized
from esper.tamiyo import feature_size, stack_action_masks
from esper.tolaria.runtime import CUDATimer, keep_bits
from tests.esper.simic.agent.helpers import FREE, SLOTS, generators

ROOT = Path(__file__).resolve().parents[2]
DEVICES = torch.cuda.device_count()

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(DEVICES < 1, reason="needs a CUDA device"),
]


def train(**changes: Any) -> tuple[list[tuple[float, ...]], dict[str, Tensor]]:
    """Accuracies of a short run's hosts by round, and the policy's weights."""
    settings: dict[str, Any] = {
        "task": "cifar_minimal",
        "rounds": 2,
        "envs": 3,
        "episode_length": 6,
        "train_images": 128,
        "val_images": 64,
        "device": "cuda:0",
    }
    config = TrainingConfig(**settings | changes)
    result = train_ppo_vectorized(config, get_task_spec(config.task))
    weights = {name: value.cpu() for name, value in result.agent.policy.state_dict().items()}
    return [done.accuracies for done in result.rounds], weights


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Whether two policies have the same bits."""
    return all(torch.equal(one[name], other[name]) for name in one)


def test_the_same_command_gives_the_same_bits() -> None:
    """Question 1: cuDNN, cuBLAS, TF32 and determinism are set as the promise needs."""
    first, second = train(), train()
    assert first[0] == second[0]
    assert same(first[1], second[1])
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


def test_products_keep_the_precision_of_float32() -> None:
    """Question 1: TF32 would be wrong in the fourth digit."""
    keep_bits(torch.device("cuda:0"), ())
    left, right = torch.randn(2, 256, 256, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = (left.float().cuda() @ right.float().cuda()).cpu().double()
    assert (found - left @ right).abs().max() < 1e-4


@pytest.mark.skipif(DEVICES < 2, reason="needs two CUDA devices")
def test_a_policy_on_the_second_device_is_timed_there() -> None:
    """Question 2: events and streams belong to the current device."""
    device = torch.device("cuda:1")
    train(device="cuda:1", rounds=1)
    assert torch.cuda.current_device() == 1
    timer = CUDATimer(device)
    timer.start()
    torch.randn(2_000, 2_000, device=device) @ torch.randn(2_000, 2_000, device=device)
    timer.stop()
    assert timer.elapsed() > 0


def test_hosts_on_a_gpu_beside_a_policy_on_the_cpu() -> None:
    """Question 2: whichever device is current, each host uses its own."""
    accuracies, _ = train(device="cpu", devices=("cuda:0", "cpu"), envs=2, rounds=1)
    assert len(accuracies[0]) == 2


@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_share_a_host_over_nccl(ranks: int, tmp_path: Path) -> None:
    """Question 3: with two devices a host's weights are gathered from device to device."""
    if ranks > DEVICES:
        pytest.skip(f"needs {ranks} CUDA devices")
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)),
        *("-m", "esper.scripts.train", "ppo", "--engine", "distributed", "--device", "cuda", "--quiet"),
        *("--task", "cifar_minimal", "--envs", "2", "--rounds", "1", "--episode-length", "4"),
        *("--train-images", "64", "--val-images", "64", "--save", str(tmp_path / "policy.pt")),
        *(("--host-parallel", f"fsdp:{ranks}") if ranks > 1 else ()),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    PPOAgent.load(tmp_path / "policy.pt")


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_policy_keeps_what_it_answered(mode: str) -> None:
    """Question 4: answers and recurrent states of earlier steps outlive the replay of a graph."""
    agent = PPOAgent(SLOTS, PPOConfig(hidden_size=32), seed=0, device="cuda:0")
    agent.compile(mode)
    envs = 20  # more than one block
    features, drawn = torch.zeros(envs, feature_size(SLOTS), device="cuda:0"), generators(envs)
    masks = stack_action_masks([FREE] * envs, "cuda:0")
    hidden, kept = agent.initial_hidden(envs), []
    for _ in range(5):
        batch = agent.get_action(features, masks, hidden, agent.draw_noise(drawn))
        hidden = batch.hidden
        kept.append((batch, batch.to_host(), hidden.h.cpu()))
    for batch, host, state in kept:
        assert batch.to_host() == host
        assert torch.equal(batch.hidden.h.cpu(), state)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_policy_learns_the_same_twice(mode: str) -> None:
    """Question 4: the update as well."""
    first, second = train(compile_mode=mode), train(compile_mode=mode)
    assert first[0] == second[0]
    assert same(first[1], second[1])


def test_launches_grow_with_hosts_and_batches_alone(
    record_property: Callable[[str, object], None],
) -> None:
    """Question 5: how many kernels an env-step launches, and that more images of a batch add none."""
    launches = {}
    for images in (64, 32):
        train(rounds=1, envs=1, episode_length=2, train_images=images, val_images=images)  # loads libraries
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            train(rounds=1, envs=1, episode_length=2, train_images=images, val_images=images)
        counts = Counter(event.device_type.name for event in profiler.events())
        launches[images] = counts["CUDA"]
        record_property(f"kernels_{images}", counts["CUDA"])
        print(f"{counts['CUDA']} kernels in 2 env-steps of one host, one batch of {images} images each")
    assert launches[64] > 0
    assert launches[64] <= 1.1 * launches[32]
