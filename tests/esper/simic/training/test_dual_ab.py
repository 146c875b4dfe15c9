"""Two reward modes from one seed: the same hosts, trained twice, side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from esper.scripts.train import main
from esper.simic.training.config import TrainingConfig
from esper.simic.training.dual_ab import run_dual_ab
from esper.simic.training.result import RoundResult, TrainingResult
from esper.simic.training.vectorized import train_ppo_vectorized

TINY = ["ppo", "--task", "cifar_minimal", "--rounds", "1", "--envs", "2", "--episode-length", "2"]
TINY += ["--train-images", "32", "--val-images", "32", "--dual-ab", "sparse"]


def test_the_same_hosts_are_trained_twice_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*TINY, "--telemetry-dir", str(tmp_path / "ab"), "--save", str(tmp_path / "p.pt")]
    assert main(argv, train=train_ppo_vectorized) == 0
    shown = capsys.readouterr().out
    assert "Two reward modes from seed 0" in shown
    assert "sparse minus shaped, host by host: " in shown
    result = json.loads((tmp_path / "ab" / "dual_ab.json").read_text())
    assert [arm["reward_mode"] for arm in result["arms"]] == ["shaped", "sparse"]
    first, second = (
        [json.loads(line) for line in (tmp_path / "ab" / mode / "events.jsonl").read_text().splitlines()]
        for mode in ("shaped", "sparse")
    )
    # Before the first reward is learnt from, both arms are one run, but for the rewards.
    epochs = [
        [e["data"] for e in events if e["event_type"] == "EPOCH_COMPLETED"] for events in (first, second)
    ]
    assert epochs[0] == epochs[1]
    assert [path.name for path in sorted(tmp_path.glob("*.pt"))] == ["p.shaped.pt", "p.sparse.pt"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--dual-ab", "shaped"], "--dual-ab shaped: is the --reward-mode; name another"),
        (["--dual-ab", "kind"], "--dual-ab kind: input should be"),
        (["--reward-family", "loss"], "--dual-ab: compares modes of --reward-family contribution"),
        (["--resume", "p.pt"], "--dual-ab: trains from the start; leave out --resume"),
        (["--save", "/nowhere/p.pt"], "--save /nowhere/p.shaped.pt: no folder /nowhere; make it first"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def untouched(config: TrainingConfig, task_spec: Any) -> Any:
        raise AssertionError("nothing may be trained")

    assert main([*TINY, *extra], train=untouched) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {message}")


def test_differences_are_paired_host_by_host() -> None:
    rows = {"shaped": (0.5, 0.25), "minimal": (0.75, 0.25)}

    def train(config: TrainingConfig) -> TrainingResult:
        return TrainingResult(None, (RoundResult(rows[config.reward_mode], (1.0, 2.0), {}),))

    result = run_dual_ab(TrainingConfig(dual_ab="minimal"), train)
    assert result.differences == (0.25, 0.0)
    assert (result.mean_difference, result.standard_error) == (0.125, pytest.approx(0.125))
    assert (result.first.final_accuracy, result.second.best_accuracy) == (0.375, 0.75)
