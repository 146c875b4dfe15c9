"""Values that the host reads, and programs whose clock is the backward pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.project import RUN, Project

BY_HAND = """
import sys
import torch
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
x, y = torch.randn(8, 3), torch.randn(8)
for step in range(5):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w.data.add_(w.grad, alpha=-0.1)
    # UPDATED
    w.grad.zero_()
"""
RUN_BY_HAND = 'command = ["python", "train.py"]\nbudget = 3\n'
WITH_METRIC = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randint(2, (16,))
seen = []
for step in range(4):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (net(x).argmax(1) == y).float().mean()
    seen.append(accuracy.item())
    rows = net.weight.tolist()
"""


def difference(project: Project, script: str, before: str, after: str, run: str = RUN_BY_HAND) -> str:
    project.run_file(run)
    project.script(script)
    base = project.record("base")
    assert before in script
    project.script(script.replace(before, after))
    result = project.golden("diff", base, project.record("changed"))
    assert result.code in (0, 1), result
    return result.out


@pytest.mark.slow
def test_a_wrong_metric_is_placed_at_the_line_that_reads_it(project: Project) -> None:
    out = difference(project, WITH_METRIC, "== y)", "!= y)")
    assert "first divergence: value that the host reads before step 1 of Linear (step 1 overall): " in out
    assert "train.py:15 <module> item: 0." in out


@pytest.mark.slow
def test_a_read_that_moved_is_the_same_read(project: Project) -> None:
    moved = "def read(value):\n    return value.item()\n\nimport torch\n"
    script = WITH_METRIC.replace("accuracy.item()", "read(accuracy)").replace("import torch\n", moved, 1)
    project.run_file(RUN_BY_HAND)
    project.script(WITH_METRIC)
    base = project.record("base")
    project.script(script)
    result = project.golden("diff", base, project.record("moved"))
    assert result.code == 0, result.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "before", "after"),
    [
        (BY_HAND, "alpha=-0.1", "alpha=-0.1 if step != 2 else -0.2"),
        (BY_HAND, "# UPDATED", "w.data[1] += 1e-7 * (step == 2)"),
    ],
)
def test_updates_by_hand_are_placed_at_the_next_backward_pass(
    project: Project, script: str, before: str, after: str
) -> None:
    out = difference(project, script, before, after)
    assert "first divergence: step 3 of BackwardPass (step 3 overall, BackwardPass): " in out


@pytest.mark.slow
def test_doctor_says_which_clock(project: Project) -> None:
    project.run_file(RUN_BY_HAND)
    project.script(BY_HAND)
    result = project.golden("doctor", "train", "--root", project.root)
    assert result.code == 0
    assert "note: steps are backward passes" in result.err


@pytest.mark.slow
def test_a_program_that_only_prints_is_compared(project: Project) -> None:
    project.run_file(RUN_BY_HAND)
    project.script("import torch\nprint(torch.ones(2).sum())\n")
    result = project.golden("record", "train", "--root", project.root, "-o", project.root / "none")
    assert (result.code, "say `steps = false`" in result.err) == (4, True)
    out = difference(
        project,
        "import torch\nprint(torch.ones(2).sum())\n",
        "ones(2)",
        "ones(3)",
        RUN_BY_HAND + "[observe]\nsteps = false\n",
    )
    assert "first divergence: stdout, line 1: " in out


@pytest.mark.slow
def test_a_golden_knows_values(project: Project) -> None:
    project.run_file(RUN)
    text = (project.root / "train.py").read_text()
    project.script(text.replace("# AFTER STEP", "shown = host[0].bias.sum().item()"))
    assert project.golden("record", "train", "--update", "--root", project.root).code == 0
    project.script(text.replace("# AFTER STEP", "shown = host[0].bias.max().item()"))
    result = project.golden("verify", "train", "--root", project.root)
    assert result.code == 1
    assert "first divergence: value that the host reads before step 0 of env 1" in result.out


@pytest.mark.slow
def test_examples_are_as_the_corpus_says_in_part(tmp_path: Path) -> None:
    """Three of the planted mistakes; `python -m tests.golden.foreign` tries all."""
    from tests.golden.foreign.trial import Laboratory, load_corpus

    laboratory = Laboratory(tmp_path)
    chosen = [m for m in load_corpus() if m.program == "handwritten" and m.of in ("logging", "nothing")][1:]
    assert len(chosen) == 2
    for mistake in chosen:
        assert laboratory.try_out(mistake).expected, mistake


@pytest.mark.slow
def test_what_cannot_repeat_is_named_with_the_key_that_leaves_it_out(project: Project) -> None:
    clocks = (
        "import os, time\n"
        "def other():\n    return torch.tensor(time.perf_counter()).item()\n"
        "class Meter:\n    def average(self):\n        return torch.tensor(time.perf_counter()).item()\n"
        "other(), Meter().average(), print('of process', os.urandom(4).hex())\n"
    )
    project.script(BY_HAND + clocks)
    project.run_file(RUN_BY_HAND + '[observe]\nunstable_values = ["Meter.*"]\n')
    result = project.golden("doctor", "train", "--root", project.root)
    assert result.code == 1
    assert " other item: " in result.out
    assert "Meter.average" not in result.out
    assert "values of Meter.*" in result.out
    assert "[observe] unstable_values in a run file leave out what can't repeat" in result.err
    assert "differs between two runs of the base: line of process <differs> of stdout" in result.out
