"""Training on nothing but the accuracy at the end."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ..conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]


def test_only_the_last_step_of_an_episode_is_rewarded(run: Run) -> None:
    events, result = run(rounds=2, envs=2, episode_length=4, reward_mode="sparse")
    for event in of_type(events, "LAST_ACTION"):
        data = event["data"]
        assert list(data["reward_components"]) == ["terminal"]
        if event["epoch"] < 4:
            assert (data["reward"], data["normalised_reward"]) == (0.0, 0.0)
    for event in of_type(events, "EPISODE_COMPLETED"):
        assert event["data"]["episode_return"] == pytest.approx(5.0 * event["data"]["final_accuracy"])
    assert [len(row.returns) for row in result.rounds] == [2, 2]


def test_the_reward_at_the_end_reaches_the_steps_before(run: Run) -> None:
    """The policy learns from an episode although all but one of its rewards are 0."""
    events, result = run(rounds=2, envs=2, episode_length=4, reward_mode="sparse")
    _, untrained = run(rounds=1, envs=2, episode_length=1, reward_mode="sparse", ppo_epochs=1)
    for event in of_type(events, "PPO_UPDATE_COMPLETED"):
        assert event["data"]["skipped"] is None
        assert event["data"]["epochs"] >= 1
        assert event["data"]["metrics"]["grad_norm"] > 0.0
    trained = result.agent.policy.state_dict()
    assert all(torch.isfinite(value).all() for value in trained.values())
    assert any(not value.equal(untrained.agent.policy.state_dict()[name]) for name, value in trained.items())


def test_the_zeros_count_in_what_later_rounds_divide_by(run: Run) -> None:
    """The spread of a sparse round is that of its zeros and its ends together."""
    events, _ = run(rounds=2, envs=1, episode_length=3, reward_mode="sparse")
    first = [e["data"]["reward"] for e in of_type(events, "LAST_ACTION") if e["round"] == 0]
    spread = torch.tensor(first, dtype=torch.float64).std().item()
    last = [e["data"] for e in of_type(events, "LAST_ACTION") if e["round"] == 1][-1]
    assert last["normalised_reward"] == pytest.approx(min(10.0, last["reward"] / max(spread, 1e-2)))
