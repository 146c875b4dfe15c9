"""Things that a program holds and that no tensor and no file shows: at which step they differ first."""

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
        {step}

fit()
"""
RUN = 'command = ["python", "train.py"]\nbudget = 5\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schedule", "step", "changed", "said"),
    [
        (
            "StepLR(optimizer, step_size=100)",
            "schedule.step()",
            ("StepLR(optimizer, step_size=101)", "schedule.step()"),
            "scheduler 0 (StepLR) after step 0 overall: scheduler.step_size: 100 -> 101",
        ),
        (
            "ReduceLROnPlateau(optimizer, patience=5)",
            "schedule.step(1.0)",
            ("ReduceLROnPlateau(optimizer, patience=6)", "schedule.step(1.0)"),
            "scheduler 0 (ReduceLROnPlateau) after step 0 overall: scheduler.patience: 5 -> 6",
        ),
        (
            "StepLR(optimizer, step_size=100)",
            "schedule.step()",
            ("StepLR(optimizer, step_size=100)", "schedule.step(); schedule.step()"),
            "scheduler 0 (StepLR) after step 1 overall: scheduler.last_epoch: 1 -> 2, ",
        ),
    ],
)
def test_a_schedule_that_decides_only_later_rates(
    project: Project, tmp_path: Path, schedule: str, step: str, changed: tuple[str, str], said: str
) -> None:
    project.run_file(RUN)
    same = schedule, step
    for name, (made, stepped) in (("base", same), ("same", same), ("head", changed)):
        project.script(PROGRAM.format(schedule=made, step=stepped))
        result = project.golden("record", "train", "--root", project.root, "-o", tmp_path / name)
        assert result.code == 0, result
    result = project.golden("diff", tmp_path / "base", tmp_path / "same")
    assert result.code == 0, result
    result = project.golden("diff", tmp_path / "base", tmp_path / "head")
    assert (result.code, f"first divergence: {said}" in result.out) == (1, True), result


@pytest.mark.slow
def test_schedules_that_are_too_many_are_named(project: Project, tmp_path: Path) -> None:
    project.run_file(RUN)
    many = "[torch.optim.lr_scheduler.StepLR(optimizer, 9) for _ in range(67)]"
    project.script(
        PROGRAM.replace("torch.optim.lr_scheduler.{schedule}", many).format(step="schedule[0].step()")
    )
    assert project.golden("record", "train", "--root", project.root, "-o", tmp_path / "base").code == 0
    told = project.golden("diff", tmp_path / "base" / "train", tmp_path / "base" / "train")
    assert "not compared: what can't be read (3 more schedulers)" in told.out, told
