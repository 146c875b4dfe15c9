"""The rule-based policy in the same loop: the baseline that a learnt policy must beat."""

from collections.abc import Callable
from typing import Any

from ..conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]


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


def test_hosts_begin_as_those_of_the_learnt_policy(run: Run) -> None:
    rules, _ = run(policy="heuristic", episode_length=1)
    learnt, _ = run(episode_length=1)
    losses = [of_type(events, "EPOCH_COMPLETED")[0]["data"]["val_loss"] for events in (rules, learnt)]
    assert losses[0] == losses[1]
