"""The gate counts syncs of a run on a simulated GPU: a new one fails with its line, a move passes."""

from pathlib import Path

import pytest

from ci.gate import main
from tests.ci.stranger import change
from tests.trees import commit, write

TRAIN = """\
import sys

import torch

from steps import train_env

envs = [torch.nn.Linear(2, 1).to(sys.argv[1]) for _ in range(3)]
optimizers = [torch.optim.SGD(env.parameters(), lr=0.1) for env in envs]
for _ in range(4):
    for env, optimizer in zip(envs, optimizers):
        loss = train_env(env, optimizer, torch.ones(8, 2, device=sys.argv[1]))
"""
STEPS = """\
def train_env(env, optimizer, inputs):
    loss = env(inputs).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()
"""


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_new_sync_in_a_loop_over_envs_fails_and_a_move_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "pyproject.toml": '[tool.gate]\nsyncs = ["envs"]\n',
        "train.py": TRAIN,
        "steps.py": STEPS,
        "golden/runs/envs.toml": 'command = ["python", "train.py", "{device}"]\nbudget = 5\n',
    }
    commit(write(tmp_path, files))
    gate = ["--root", str(tmp_path), "--base", "HEAD", "--only", "syncs"]
    (tmp_path / "train.py").write_text(
        TRAIN.replace("from steps import train_env", STEPS).replace("lr=0.1", "lr=0.2")
    )
    assert main(gate) == 0
    assert "6 syncs in 4 steps, 6 in 4 at HEAD" in said(capsys)
    (tmp_path / "train.py").write_text(TRAIN)
    change(tmp_path, "steps.py", "loss.detach()", "loss.item()")
    assert main(gate) == 1
    assert "steps.py:6: item, +3 a step" in said(capsys)
    (tmp_path / "train.py").write_text(TRAIN.replace("sys.argv[1]", '"cpu"'))
    assert main(gate) == 1
    assert "could not run" in (told := said(capsys))
    assert "run envs has no tensor on the device, so it has no syncs to compare" in told
