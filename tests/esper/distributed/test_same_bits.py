"""Any number of processes gives the bits of one: events, hosts, policy, random states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from esper.scripts.train import main
from esper.tolaria import engine
from tests.esper.distributed.processes import run
from tests.esper.distributed.watching import Watch, seen
from tests.esper.records import checkpoint, events, same

# One worker makes the runs that these tests share.
pytestmark = pytest.mark.xdist_group("same_bits")
TINY = ["--task", "cifar_minimal", "--rounds", "2", "--episode-length", "4", "--train-images", "40"]
TINY += ["--val-images", "24", "--seed", "5", "--quiet", "--telemetry-level", "debug"]


def kept_in(folder: Path) -> list[str]:
    return ["--telemetry-dir", str(folder), "--save", str(folder / "p.pt")]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Callable[..., Path]:
    """The folder of a run of one process, with events, checkpoint and hosts; made once for each command."""

    @cache
    def train(*argv: str) -> Path:
        folder = tmp_path_factory.mktemp("alone")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(cache_home))
            patch.setattr(engine, "execute_actions", engine.execute_actions)  # put back at the end
            Watch(folder)(0)
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            kept = kept_in(folder) if argv[0] == "ppo" else kept_in(folder)[:2]
            assert main([*argv, *TINY, *kept]) == 0
            torch.set_num_threads(threads)
        return folder

    return train


@pytest.mark.parametrize(
    ("size", "envs"),
    [(4, 5)]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in [(1, 4), (2, 1), (2, 4), (3, 4), (4, 1)]],
)
def test_processes_give_the_bits_of_one(
    size: int, envs: int, alone: Callable[..., Path], tmp_path: Path
) -> None:
    command = ["ppo", "--envs", str(envs)]
    expected = alone(*command)
    ended = run([*command, *TINY, *kept_in(tmp_path)], size, tmp_path / "errors", Watch(tmp_path))
    assert ended.statuses == (0,) * size, ended.errors
    assert ended.lines == []
    assert events(tmp_path) == events(expected)
    assert seen(tmp_path) == seen(expected)
    assert same(checkpoint(tmp_path / "p.pt"), checkpoint(expected / "p.pt"))


def test_rules_instead_of_a_policy(alone: Callable[..., Path], tmp_path: Path) -> None:
    expected = alone("heuristic", "--envs", "3")
    told = ["--telemetry-dir", str(tmp_path)]
    ended = run(["heuristic", "--envs", "3", *TINY, *told], 2, tmp_path / "errors", Watch(tmp_path))
    assert (ended.statuses, ended.lines) == ((0, 0), [])
    assert events(tmp_path) == events(expected)
    assert seen(tmp_path) == seen(expected)


@pytest.mark.slow
def test_two_reward_modes_on_the_same_hosts(alone: Callable[..., Path], tmp_path: Path) -> None:
    command = ["ppo", "--envs", "3", "--reward-mode", "shaped", "--dual-ab", "sparse"]
    expected = alone(*command)
    ended = run([*command, *TINY, *kept_in(tmp_path)], 2, tmp_path / "errors", Watch(tmp_path))
    assert (ended.statuses, ended.lines) == ((0, 0), [])
    for mode in ("shaped", "sparse"):
        assert events(tmp_path / mode) == events(expected / mode)
        assert same(checkpoint(tmp_path / f"p.{mode}.pt"), checkpoint(expected / f"p.{mode}.pt"))
    assert (tmp_path / "dual_ab.json").read_bytes() == (expected / "dual_ab.json").read_bytes()
    assert seen(tmp_path) == seen(expected)


@pytest.mark.slow
def test_a_checkpoint_of_four_processes_goes_on_with_three_or_one(
    alone: Callable[..., Path], tmp_path: Path
) -> None:
    command = ["ppo", "--envs", "4"]
    expected, saved = alone(*command), tmp_path / "half.pt"
    first = [*command, *TINY, "--rounds", "1", "--save", str(saved)]
    assert run(first, 4, tmp_path / "first").statuses == (0,) * 4
    for size in (3, 1):
        folder = tmp_path / str(size)
        resumed = [*command, *TINY, "--resume", str(saved), *kept_in(folder)]
        ended = run(resumed, size, folder / "errors", Watch(folder))
        assert (ended.statuses, ended.lines) == ((0,) * size, [])
        rest = [event for event in events(expected) if event["round"] == 1]
        assert [event for event in events(folder) if event["round"] == 1] == rest
        assert seen(folder) == {env: states[4:] for env, states in seen(expected).items()}
        assert same(checkpoint(folder / "p.pt"), checkpoint(expected / "p.pt"))
