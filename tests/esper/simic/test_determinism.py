"""Same command, same bits; an env does not depend on its neighbours, nor training on telemetry."""

from pathlib import Path
from typing import Any

import pytest
import torch

from esper.leyline.errors import InputError
from tests.esper.simic.conftest import Run


def policy_of(result: Any) -> dict[str, torch.Tensor]:
    return dict(result.agent.policy.state_dict())


def same_weights(first: Any, second: Any) -> bool:
    ours, theirs = policy_of(first), policy_of(second)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_same_run_twice_gives_the_same_events_and_weights(run: Run) -> None:
    events, result = run(rounds=2, envs=2, seed=5)
    again, other = run(rounds=2, envs=2, seed=5)
    assert events == again
    assert result.rounds == other.rounds
    assert same_weights(result, other)


@pytest.mark.parametrize("neighbours", [2, pytest.param(16, marks=pytest.mark.slow)])
def test_an_env_has_the_same_trajectory_whatever_its_neighbours(run: Run, neighbours: int) -> None:
    length = 12 if neighbours == 2 else 4
    alone, _ = run(envs=1, episode_length=length, seed=4, train_images=64)
    beside, _ = run(envs=1 + neighbours, episode_length=length, seed=4, train_images=64)
    ours = [event for event in alone if event["env"] == 0]
    theirs = [event for event in beside if event["env"] == 0]
    assert any(event["event_type"] == "SEED_GERMINATED" for event in ours)
    assert ours == theirs
    assert {event["env"] for event in beside} == {None, *range(1 + neighbours)}


@pytest.mark.parametrize("level", ["minimal", "debug"])
def test_telemetry_does_not_change_training(run: Run, level: str) -> None:
    _, normal = run(rounds=2, telemetry_level="normal")
    _, other = run(rounds=2, telemetry_level=level)
    assert normal.rounds == other.rounds
    assert same_weights(normal, other)


def test_the_global_random_state_neither_matters_nor_changes(run: Run) -> None:
    torch.manual_seed(1)
    first, _ = run()
    torch.manual_seed(2)
    state = torch.get_rng_state()
    second, _ = run()
    assert first == second
    assert torch.equal(torch.get_rng_state(), state)


def test_resuming_with_other_settings_is_refused(run: Run, tmp_path: Path) -> None:
    run(save=tmp_path / "part.pt", seed=1)
    with pytest.raises(InputError, match=r"part.pt: was trained with seed 1, not 2; resume with the same"):
        run(rounds=2, resume=tmp_path / "part.pt", seed=2)


def test_a_checkpoint_that_has_all_the_rounds_is_refused(run: Run, tmp_path: Path) -> None:
    run(rounds=2, episode_length=1, save=tmp_path / "part.pt")
    with pytest.raises(InputError, match=r"part.pt: has 2 round\(s\) already; pass --rounds with more"):
        run(rounds=2, episode_length=1, resume=tmp_path / "part.pt")


def test_an_agent_saved_without_a_run_is_refused(run: Run, tmp_path: Path) -> None:
    _, result = run(episode_length=1)
    result.agent.save(tmp_path / "agent.pt", {"note": "not a run"})
    with pytest.raises(InputError, match=r"agent.pt: was not written by --save of this trainer"):
        run(rounds=2, resume=tmp_path / "agent.pt")
