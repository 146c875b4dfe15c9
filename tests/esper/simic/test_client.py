"""The agent is a client for any engine, and which engine trains the hosts changes nothing that it learns."""

from typing import Any

import pytest

from esper.leyline import PolicyProtocol, RewardProtocol
from esper.simic.client import SimicClient

from .conftest import Events, Run


def test_the_client_has_what_an_engine_asks_for() -> None:
    for protocol in (PolicyProtocol, RewardProtocol):
        assert issubclass(SimicClient, protocol)


def by_env(events: Events) -> dict[int | None, Events]:
    """The events of every env, and those of none, each in their order."""
    return {
        env: [event for event in events if event["env"] == env] for env in {event["env"] for event in events}
    }


@pytest.mark.parametrize(
    "settings",
    [
        {"gpu_preload": True, "gpu_preload_augment": True, "num_workers": 2},
        # Few images: a processor without arithmetic in float16 takes a hundred times as long.
        {
            "amp": True,
            "amp_dtype": "float16",
            "telemetry_level": "debug",
            "train_images": 16,
            "val_images": 16,
        },
        {"governor_threshold": 0.1, "reward_mode": "escrow"},
        {"policy": "heuristic", "reward_family": "loss"},
    ],
)
def test_hosts_that_train_in_turn_learn_the_same(run: Run, settings: dict[str, Any]) -> None:
    small = {"envs": 2, "rounds": 1, "episode_length": 5, "train_images": 70, "val_images": 70}
    side_by_side, first = run(**small | settings)
    in_turn, second = run(**small | settings, engine="plain")
    assert by_env(side_by_side) == by_env(in_turn)
    assert first.rounds == second.rounds
    if first.agent is not None:
        weights = [result.agent.policy.state_dict() for result in (first, second)]
        assert all(weights[0][name].equal(weights[1][name]) for name in weights[0])
