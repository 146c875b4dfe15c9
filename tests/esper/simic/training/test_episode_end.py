"""The end of an episode, where it is paid and where it is cut off; rules instead of a policy."""

from types import ModuleType
from typing import Any

import pytest
import torch

from ..conftest import Run, of_type


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


def test_the_zeros_count_in_what_later_rounds_divide_by(run: Run) -> None:
    """The spread of a sparse round is that of its zeros and its ends together."""
    events, _ = run(rounds=2, envs=1, episode_length=3, reward_mode="sparse")
    first = [e["data"]["reward"] for e in of_type(events, "LAST_ACTION") if e["round"] == 0]
    spread = torch.tensor(first, dtype=torch.float64).std().item()
    last = [e["data"] for e in of_type(events, "LAST_ACTION") if e["round"] == 1][-1]
    assert last["normalised_reward"] == pytest.approx(min(10.0, last["reward"] / max(spread, 1e-2)))


def test_rules_act_and_no_policy_is_updated(run: Run) -> None:
    events, result = run(policy="heuristic", envs=2, rounds=2, episode_length=9)
    assert result.agent is None
    assert of_type(events, "RUN_STARTED")[0]["data"]["policy_params"] == 0
    assert of_type(events, "SEED_GERMINATED")
    assert not of_type(events, "PPO_UPDATE_COMPLETED")
    assert all(row.policy_metrics == {} for row in result.rounds)
    actions = of_type(events, "LAST_ACTION")
    assert len(actions) == 36
    assert all(action["data"]["success"] for action in actions)
    assert {action["data"]["log_prob"] for action in actions} == {0.0}
