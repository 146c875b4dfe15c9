"""A class of a model that has another name: what it computes is compared all the same."""

from __future__ import annotations

import pytest

from tests.golden.project import Project

SCRIPT = """
import copy, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 2)

class Other(nn.Linear):
    pass

torch.manual_seed(0)
net, other = Net(), Other(2, 1)
target = copy.deepcopy(net)
one = torch.optim.SGD(net.parameters(), lr=0.1)
both = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
for _ in range(3):
    other(net.body(torch.ones(2, 3))).sum().backward()
    one.step()
    both.step()
    both.zero_grad()
target.eval()
"""
RUN = 'command = ["python", "train.py"]\nbudget = 3\ntimeout = 60\n'


@pytest.mark.slow
def test_another_name_is_named_and_no_difference(project: Project) -> None:
    project.run_file(RUN)
    project.script(SCRIPT)
    assert project.golden("record", "train", "--update").code == 0
    base = project.record("base")
    renamed = SCRIPT.replace("Net", "Policy")
    project.script(renamed)
    result = project.golden("diff", base, project.record("renamed"))
    assert (result.code, "the name of class Net (Policy in head)" in result.out) == (0, True), result
    # One optimizer steps two models: a golden keeps a digest of their names.
    assert project.golden("verify", "train").code == 1
    for code, said in (
        (renamed.replace("target.eval()", ""), "training flag"),
        (renamed.replace("lr=0.1", "lr=0.2", 1), "setting"),
        (SCRIPT.replace("Net", "Other2").replace("Other(", "Third(").replace("Other2", "Other"), ""),
    ):
        project.script(code)
        result = project.golden("diff", base, project.record(f"changed {said}"))
        assert (result.code, said in result.out) == (1, True), (said, result)


@pytest.mark.slow
def test_a_golden_knows_another_name(project: Project) -> None:
    project.run_file(RUN)
    script = SCRIPT.replace("    both.step()\n", "")
    project.script(script)
    assert project.golden("record", "train", "--update").code == 0
    project.script(script.replace("Net", "Policy"))
    result = project.golden("verify", "train")
    assert (result.code, "the name of class Net (Policy in head)" in result.out) == (0, True), result
    project.script(script.replace("Net", "Policy").replace("target.eval()", ""))
    assert project.golden("verify", "train").code == 1
