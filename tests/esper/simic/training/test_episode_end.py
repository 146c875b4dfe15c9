"""The end of an episode: over where it is paid for, cut off elsewhere."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

from ..conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]


def weights(result: Any) -> torch.Tensor:
    return torch.cat([value.flatten() for value in result.agent.policy.state_dict().values()])


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        ({"reward_mode": "shaped"}, False),
        ({"reward_mode": "sparse"}, False),
        ({"reward_mode": "basic"}, True),
        ({"reward_family": "loss"}, True),
    ],
)
def test_what_is_expected_after_the_end_counts_only_where_nothing_is_paid_at_the_end(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], counts: bool
) -> None:
    _, plain = run(episode_length=3, **settings)
    monkeypatch.setattr(
        trainer.PPOAgent,
        "bootstrap_values",
        lambda agent, features, hidden: torch.full((features.shape[0],), 50.0),
    )
    _, promised = run(episode_length=3, **settings)
    assert weights(plain).equal(weights(promised)) != counts


def test_values_stay_within_what_an_episode_can_pay(run: Run) -> None:
    """A terminal reward that was added to itself in every round would grow past any bound."""
    events, _ = run(rounds=8, envs=2, episode_length=2, train_images=16, reward_mode="sparse", ppo_epochs=40)
    values = [event["data"]["value"] for event in of_type(events, "LAST_ACTION") if event["round"] == 7]
    rewards = [event["data"]["normalised_reward"] for event in of_type(events, "LAST_ACTION")]
    assert max(values) <= 1.5 * max(rewards)
