"""What a program holds at its end that no step and no file shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.project import Project

PROGRAM = """
import sys
import torch
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)

def fit():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.{schedule}
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        schedule.step({step})

fit()
"""
RUN = 'command = ["python", "train.py"]\nbudget = 5\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schedule", "step", "changed", "said"),
    [
        (
            "StepLR(optimizer, step_size=100)",
            "",
            "StepLR(optimizer, step_size=101)",
            "scheduler 0 (StepLR) at the end: scheduler.step_size: 100 -> 101",
        ),
        (
            "ReduceLROnPlateau(optimizer, patience=5)",
            "1.0",
            "ReduceLROnPlateau(optimizer, patience=6)",
            "scheduler 0 (ReduceLROnPlateau) at the end: scheduler.patience: 5 -> 6",
        ),
    ],
)
def test_a_schedule_that_decides_only_later_rates(
    project: Project, tmp_path: Path, schedule: str, step: str, changed: str, said: str
) -> None:
    project.run_file(RUN)
    for name, text in (("base", schedule), ("same", schedule), ("head", changed)):
        project.script(PROGRAM.format(schedule=text, step=step))
        result = project.golden("record", "train", "--root", project.root, "-o", tmp_path / name)
        assert result.code == 0, result
    same = project.golden("diff", tmp_path / "base", tmp_path / "same")
    assert same.code == 0, same
    result = project.golden("diff", tmp_path / "base", tmp_path / "head")
    assert (result.code, f"first divergence: {said}" in result.out) == (1, True), result
