"""Lower precision: bfloat16, and float16 with a scaler per host; compiled policy and loss."""

from pathlib import Path
from types import ModuleType

import pytest
import torch

from esper.simic.agent import PPOAgent
from esper.tolaria.models import backward, step_optimizers
from tests.esper.simic.agent.helpers import SLOTS, SMALL, play

from ..conftest import Events, Run, of_type


def losses(events: Events) -> list[float]:
    return [event["data"]["train_loss"] for event in of_type(events, "EPOCH_COMPLETED")]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_lower_precision_trains_close_to_float32(run: Run, dtype: str) -> None:
    plain, _ = run(episode_length=2, train_images=64)
    lower, _ = run(episode_length=2, train_images=64, amp=True, amp_dtype=dtype)
    assert losses(lower) != losses(plain)
    assert losses(lower) == pytest.approx(losses(plain), rel=0.05)


def test_gradients_are_reported_in_true_scale(run: Run) -> None:
    settings = {"episode_length": 1, "train_images": 64, "telemetry_level": "debug", "gradient_stride": 1}
    plain, _ = run(**settings)
    lower, _ = run(**settings, amp=True, amp_dtype="float16")
    norms = [of_type(events, "HOST_GRADIENT_NORMS")[0]["data"]["host"] for events in (plain, lower)]
    assert norms[1] == pytest.approx(norms[0], rel=0.1)


@pytest.mark.slow
def test_resuming_in_float16_equals_running_through(run: Run, tmp_path: Path) -> None:
    settings = {"amp": True, "amp_dtype": "float16", "episode_length": 3, "train_images": 64}
    through, _ = run(**settings, rounds=2)
    run(**settings, rounds=1, save=tmp_path / "part.pt")
    resumed, _ = run(**settings, rounds=2, resume=tmp_path / "part.pt")
    assert [e for e in through if e["round"] == 1] == [e for e in resumed if e["round"] is not None]


def parameter_with_optimizer() -> tuple[torch.nn.Parameter, torch.optim.SGD]:
    parameter = torch.nn.Parameter(torch.ones(3))
    return parameter, torch.optim.SGD([parameter], lr=0.5, fused=True)


def test_an_overflow_leaves_the_weights_of_that_optimizer_alone() -> None:
    (broken, first), (sound, second) = parameter_with_optimizer(), parameter_with_optimizer()
    idle, third = parameter_with_optimizer()
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    backward(broken.sum() * float("inf") + sound.sum(), [first, second, third], scaler)
    assert torch.equal(sound.grad, torch.ones(3))
    step_optimizers([first, second, third], scaler)
    assert torch.equal(broken, torch.ones(3))
    assert torch.equal(sound, torch.full((3,), 0.5))
    assert torch.equal(idle, torch.ones(3))
    assert scaler.get_scale() == 2.0


def test_the_compile_mode_reaches_policy_and_loss(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[str] = []
    monkeypatch.setattr(PPOAgent, "compile", lambda self, mode: modes.append(mode))
    run(episode_length=1, train_images=16, compile_mode="reduce-overhead")
    run(episode_length=1, train_images=16)
    assert modes == ["reduce-overhead"]


@pytest.mark.slow
def test_a_compiled_policy_and_loss_learn_as_the_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # The tracer is what can fail here; a code generator needs a C++ compiler and a minute.
    compile_function = torch.compile
    monkeypatch.setattr(torch, "compile", lambda fn, mode: compile_function(fn, backend="eager"))
    metrics = []
    for compiled in (False, True):
        agent = PPOAgent(SLOTS, SMALL, seed=1)
        if compiled:
            agent.compile("default")
        rollout = play(agent, 2, 3)
        bootstrap = agent.bootstrap_values(rollout.features, rollout.hidden)
        metrics.append(dict(agent.update(rollout.buffer, bootstrap).metrics))
    assert metrics[1] == pytest.approx(metrics[0], rel=1e-3, abs=1e-5)
