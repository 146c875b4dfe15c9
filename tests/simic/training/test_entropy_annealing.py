"""The entropy bonus falls (or rises) in a straight line over episodes, round by round."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esper.simic.training.reporter import calculate_entropy_anneal_steps
from tests.esper.simic.conftest import Events, Run, of_type

SHORT = {"episode_length": 1, "train_images": 16}


def coefficients(events: Events) -> list[float]:
    """One per round, as announced; every update must have used the announced one."""
    announced = [event["data"]["entropy_coef"] for event in of_type(events, "ROUND_STARTED")]
    used = [event["data"]["entropy_coef"] for event in of_type(events, "PPO_UPDATE_COMPLETED")]
    assert announced == used
    return announced


def test_the_bonus_falls_over_the_given_episodes_and_stays_there(run: Run) -> None:
    settings = {"entropy_start": 0.1, "entropy_end": 0.0, "entropy_anneal_episodes": 4}
    events, _ = run(rounds=4, envs=2, **SHORT, **settings)
    assert coefficients(events) == pytest.approx([0.1, 0.05, 0.0, 0.0])


def test_the_bonus_may_rise(run: Run) -> None:
    settings = {"entropy_start": 0.0, "entropy_end": 0.3, "entropy_anneal_episodes": 3}
    events, _ = run(rounds=3, envs=1, **SHORT, **settings)
    assert coefficients(events) == pytest.approx([0.0, 0.1, 0.2])


def test_a_resumed_run_goes_on_where_annealing_stood(run: Run, tmp_path: Path) -> None:
    settings = {"entropy_start": 0.1, "entropy_end": 0.0, "entropy_anneal_episodes": 4, **SHORT}
    through, _ = run(rounds=3, **settings)
    run(rounds=1, save=tmp_path / "part.pt", **settings)
    resumed, _ = run(rounds=3, resume=tmp_path / "part.pt", **settings)
    assert coefficients(resumed) == coefficients(through)[1:]


@given(st.integers(1, 10_000), st.integers(1, 1_024))
def test_annealing_takes_as_many_updates_as_have_the_episodes(episodes: int, envs: int) -> None:
    updates = calculate_entropy_anneal_steps(episodes, envs)
    assert (updates - 1) * envs < episodes <= updates * envs
