"""Devices, timing, optimizers and models, on a CPU."""

import pytest
import torch

from esper.leyline.errors import InputError
from esper.runtime import get_task_spec
from esper.scripts.processes import group_backend
from esper.tolaria.models import create_optimizer, reset_momentum
from esper.tolaria.runtime import (
    resolve_env_devices,
)

CPU = torch.device("cpu")


def test_envs_take_the_named_devices_in_turn() -> None:
    assert resolve_env_devices(None, CPU, 2) == (CPU, CPU)
    assert resolve_env_devices(("cpu", "cpu"), CPU, 3) == (CPU, CPU, CPU)
    with pytest.raises(InputError, match="--devices abacus: not a device"):
        resolve_env_devices(("cpu", "abacus"), CPU, 1)


def test_the_optimizer_equals_the_plain_one_and_bears_late_gradients() -> None:
    spec = get_task_spec("cifar_minimal")
    ours, plain = (
        [torch.nn.Parameter(torch.tensor([1.0, -2.0])), torch.nn.Parameter(torch.tensor([3.0]))]
        for _ in range(2)
    )
    optimizer = create_optimizer(ours, spec, learning_rate=0.1)
    reference = torch.optim.SGD(plain, lr=0.1, momentum=spec.momentum, weight_decay=spec.weight_decay)
    for step in range(3):
        for parameters in (ours, plain):
            parameters[0].grad = torch.tensor([0.5, 0.25])
            parameters[1].grad = torch.tensor([1.0]) if step else None
        optimizer.step()
        reference.step()
    for mine, theirs in zip(ours, plain, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=0.0)


def test_momentum_can_be_forgotten() -> None:
    spec = get_task_spec("cifar_minimal")
    parameter = torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = create_optimizer([parameter], spec, learning_rate=0.1)
    parameter.grad = torch.tensor([1.0])
    optimizer.step()
    reset_momentum(optimizer)
    assert optimizer.state[parameter]["momentum_buffer"].item() == 0.0


@pytest.mark.parametrize(
    ("devices", "backend"),
    [(["cpu"], "gloo"), (["cpu", "cuda:1"], "cpu:gloo,cuda:nccl"), (["cuda"], "cpu:gloo,cuda:nccl")],
)
def test_tensors_on_cuda_devices_go_by_nccl(devices: list[str], backend: str) -> None:
    assert group_backend(devices) == backend
