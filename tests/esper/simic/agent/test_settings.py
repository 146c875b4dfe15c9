"""The agent's settings: a key and a flag each, which reach the agent and are in the run's events."""

from collections.abc import Callable
from typing import Any

import pytest

from esper.leyline.errors import InputError
from esper.simic.agent import PPOConfig
from esper.simic.training.config import TrainingConfig, parse_config
from tests.esper.simic.conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]

CHANGED: dict[str, Any] = {
    "learning_rate": 3e-4,
    "clip": 0.1,
    "discount": 0.9,
    "gae_lambda": 0.8,
    "target_kl": 0.02,
    "hidden_size": 32,
    "max_grad_norm": 1.5,
    "ppo_epochs": 2,
    "minibatches": 1,
    "value_coef": 0.25,
    "entropy_start": 0.02,
}
FIELDS = {"ppo_epochs": "epochs", "entropy_start": "entropy_coef"}


def test_the_defaults_are_those_of_the_agent() -> None:
    assert TrainingConfig().ppo_config() == PPOConfig()


def test_every_setting_of_the_agent_has_a_key() -> None:
    keys = {FIELDS.get(name, name) for name in CHANGED}
    assert keys == set(PPOConfig.__dataclass_fields__)


# The frozen single-file trainer is older than these settings.
@pytest.mark.parametrize("trainer", ["esper.simic.training.vectorized"], indirect=True)
def test_settings_reach_the_agent_and_the_events(run: Run) -> None:
    events, result = run(episode_length=2, **CHANGED)
    [started] = of_type(events, "RUN_STARTED")
    for name, value in CHANGED.items():
        assert getattr(result.agent.config, FIELDS.get(name, name)) == value
        assert started["data"]["config"][name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("learning_rate", 0.0), ("clip", 0.0), ("discount", 1.5), ("gae_lambda", -0.1), ("target_kl", 0.0)),
        *(("hidden_size", 1), ("max_grad_norm", 0.0), ("ppo_epochs", 0), ("minibatches", 0)),
    ],
)
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} {value}"):
        parse_config(TrainingConfig(), {name: value})
