"""Reward mode escrow in a real run: accounts belong to one env and one episode, and are paid back."""

import math

import pytest

from tests.esper.simic.conftest import Events, Run, of_type

WEIGHT = 50.0


def episodes(events: Events) -> list[Events]:
    """The events of every env in every round."""
    keys = dict.fromkeys((e["round"], e["env"]) for e in events if e["env"] is not None)
    return [[e for e in events if (e["round"], e["env"]) == key] for key in keys]


def payments(episode: Events) -> list[float]:
    return [event["data"]["reward_components"]["escrow"] for event in of_type(episode, "LAST_ACTION")]


def last_accounts(episode: Events) -> float:
    """What the permanent seeds of an episode are surely worth at its end, from its other events."""
    accuracy = [event["data"]["val_accuracy"] for event in of_type(episode, "EPOCH_COMPLETED")]
    born = {e["slot"]: accuracy[e["epoch"] - 1] for e in of_type(episode, "SEED_GERMINATED")}
    measured: dict[str, list[float]] = {}
    for event in of_type(episode, "COUNTERFACTUAL_COMPUTED"):
        for slot, value in event["data"]["contributions"].items():
            measured.setdefault(slot, []).append(value)
    worth = []
    for event in of_type(episode, "SEED_FOSSILIZED"):
        before, now = measured[event["slot"]][-2:]
        rise = max(0.0, accuracy[-1] - born[event["slot"]])
        worth.append(WEIGHT * max(0.0, min(now, rise, before)))
    return math.fsum(worth)


def test_episodes_begin_with_nothing_and_end_with_what_permanent_seeds_are_worth(run: Run) -> None:
    settings = {"policy": "heuristic", "reward_mode": "escrow", "seed": 2}  # rules that keep what helps
    events, _ = run(envs=2, episode_length=16, train_images=320, val_images=200, **settings)
    assert not of_type(events, "GOVERNOR_ROLLBACK")
    found = [payments(episode) for episode in episodes(events)]
    for paid, episode in zip(found, episodes(events), strict=True):
        assert paid[0] == 0.0
        assert math.fsum(paid) == pytest.approx(last_accounts(episode), abs=1e-9)
    everything = [payment for paid in found for payment in paid]
    assert min(everything) < 0.0 < max(everything)
    assert of_type(events, "SEED_FOSSILIZED")
