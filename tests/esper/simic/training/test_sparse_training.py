"""The sparse reward: nothing until the episode ends, then the accuracy that was reached."""

from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]


def test_only_the_last_step_is_rewarded(run: Run) -> None:
    events, result = run(envs=2, episode_length=5, reward_mode="sparse")
    actions = of_type(events, "LAST_ACTION")
    assert all(action["data"]["reward"] == 0.0 for action in actions if action["epoch"] < 5)
    last = [action["data"] for action in actions if action["epoch"] == 5]
    assert all(set(action["reward_components"]) == {"terminal"} for action in last)
    assert [action["reward"] for action in last] == [
        pytest.approx(5.0 * accuracy) for accuracy in result.rounds[0].accuracies
    ]


def test_a_policy_learns_from_it_without_a_complaint(run: Run) -> None:
    events, _ = run(rounds=2, episode_length=4, reward_mode="sparse")
    updates = [event["data"] for event in of_type(events, "PPO_UPDATE_COMPLETED")]
    assert [update["skipped"] for update in updates] == [None, None]
    assert not of_type(events, "ANOMALY_DETECTED")
