"""The entropy bonus falls with the episodes that were played, by all envs together."""

from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import Events, of_type

Run = Callable[..., tuple[Events, Any]]


def coefficients(events: Events) -> list[float]:
    started = [event["data"]["entropy_coef"] for event in of_type(events, "ROUND_STARTED")]
    used = [event["data"]["entropy_coef"] for event in of_type(events, "PPO_UPDATE_COMPLETED")]
    assert started == used
    return started


@pytest.mark.parametrize(
    ("envs", "episodes", "expected"),
    [
        (2, 4, [0.1, 0.05, 0.0, 0.0]),
        (2, 3, [0.1, 0.05, 0.0, 0.0]),
        (1, 4, [0.1, 0.075, 0.05, 0.025]),
        (1, 0, [0.1, 0.1, 0.1, 0.1]),
    ],
)
def test_the_entropy_bonus_falls_over_the_given_episodes(
    run: Run, envs: int, episodes: int, expected: list[float]
) -> None:
    settings = {"entropy_start": 0.1, "entropy_end": 0.0, "entropy_anneal_episodes": episodes}
    events, _ = run(rounds=4, envs=envs, episode_length=1, train_images=16, val_images=16, **settings)
    assert coefficients(events) == pytest.approx(expected)


def test_a_resumed_run_goes_on_where_the_bonus_stood(run: Run, tmp_path: Any) -> None:
    settings = {"entropy_start": 0.1, "entropy_end": 0.0, "entropy_anneal_episodes": 4, "episode_length": 1}
    run(**settings, rounds=2, save=tmp_path / "part.pt", train_images=16)
    events, _ = run(**settings, rounds=4, resume=tmp_path / "part.pt", train_images=16)
    assert coefficients(events) == pytest.approx([0.05, 0.025])
