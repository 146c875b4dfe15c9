"""Devices, timing, optimizers and models, on a CPU."""

import time

import pytest
import torch

from esper.leyline import SlotConfig
from esper.leyline.errors import InputError
from esper.runtime import get_task_spec
from esper.scripts.processes import group_backend
from esper.tolaria.models import create_model, create_optimizer, reset_momentum
from esper.tolaria.runtime import (
    CUDATimer,
    PhaseTimer,
    keep_bits,
    make_scaler,
    make_stream,
    on_stream,
    resolve_amp_dtype,
    resolve_device,
    resolve_env_devices,
    synchronise,
    to_host,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("abacus", "not a device"),
        ("mps", "not supported"),
        ("cpu:3", "not supported"),
        ("cuda:99", "this machine has"),
    ],
)
def test_an_unusable_device_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--device {name}: {message}"):
        resolve_device(name)


def test_a_cpu_has_no_streams_and_runs_the_block_at_once() -> None:
    assert resolve_device("cpu") == CPU
    stream = make_stream(CPU)
    assert stream is None
    with on_stream(stream, torch.zeros(1)):
        done = True
    synchronise([stream])
    assert done


def test_lower_precision_only_when_asked_for() -> None:
    assert resolve_amp_dtype(False, "bfloat16", [CPU]) is None
    assert resolve_amp_dtype(True, "bfloat16", [CPU]) is torch.bfloat16
    assert resolve_amp_dtype(True, "float16", [CPU]) is torch.float16
    assert make_scaler(torch.bfloat16, CPU) is None
    assert make_scaler(torch.float16, CPU) is not None


def test_envs_take_the_named_devices_in_turn() -> None:
    assert resolve_env_devices(None, CPU, 2) == (CPU, CPU)
    assert resolve_env_devices(("cpu", "cpu"), CPU, 3) == (CPU, CPU, CPU)
    with pytest.raises(InputError, match="--devices abacus: not a device"):
        resolve_env_devices(("cpu", "abacus"), CPU, 1)


def test_totals_of_all_envs_come_in_one_list() -> None:
    assert to_host([torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])], CPU) == [[1.0, 2.0], [3.0, 4.0]]


def test_phases_add_up_their_turns() -> None:
    timed = PhaseTimer(CPU, ("train", "act", "update"))
    for phase in ("train", "act", "train"):
        with timed(phase):
            before = time.perf_counter()
            while time.perf_counter() < before + 0.002:
                pass
    seconds = timed.seconds()
    assert list(seconds) == ["train", "act", "update"]
    assert seconds["train"] >= 0.004
    assert seconds["act"] >= 0.002
    assert seconds["update"] == 0


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 1, reason="needs a CUDA device")
def test_a_phase_on_cuda_takes_as_long_as_the_device_works() -> None:
    timed = PhaseTimer(torch.device("cuda", 0), ("train", "act"))
    matrix = torch.ones(2048, 2048, device="cuda:0")
    with timed("train"):
        for _ in range(20):
            matrix = matrix @ matrix
    with timed("act"):
        pass
    seconds = timed.seconds()
    assert seconds["train"] > seconds["act"] >= 0


def test_the_timer_measures_wall_time_on_a_cpu() -> None:
    timer = CUDATimer(CPU)
    timer.start()
    before = time.perf_counter()
    while time.perf_counter() == before:
        pass
    timer.stop()
    assert timer.elapsed() > 0.0


def test_a_model_is_a_function_of_its_generator() -> None:
    spec = get_task_spec("cifar_minimal")
    slots = SlotConfig(spec.slots)
    states = [
        create_model(
            spec, slots, spec.slots, generator=torch.Generator().manual_seed(seed), device=CPU
        ).state_dict()
        for seed in (1, 1, 2)
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])


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


def test_on_a_cpu_nothing_is_set_for_the_same_bits() -> None:
    before = (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic)
    keep_bits(CPU, [CPU])
    assert (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic) == before


@pytest.mark.parametrize(
    ("devices", "backend"),
    [(["cpu"], "gloo"), (["cpu", "cuda:1"], "cpu:gloo,cuda:nccl"), (["cuda"], "cpu:gloo,cuda:nccl")],
)
def test_tensors_on_cuda_devices_go_by_nccl(devices: list[str], backend: str) -> None:
    assert group_backend(devices) == backend
