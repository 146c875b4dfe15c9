"""The strangers' loops: which lines read when run on a simulated GPU, and how the checker does on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.simulated.child import run
from golden.simulated.result import read_result
from tests.codemods.hotpath.strangers import SETTINGS, STARTS, loops, reported

# It calls the function of each loop with what its parameters name.
DRIVER = f"""
import importlib, inspect, random, sys
import numpy as np, torch
from torch import nn

class Env:
    def reset(self):
        self.steps = 0
        return np.zeros(4)

    def step(self, action):
        return np.zeros(4)

    def act(self, action):
        self.steps += 1
        return np.zeros(4), 0.5, self.steps > 2

for number in range(int(sys.argv[1])):
    torch.manual_seed(0)
    random.seed(0)
    module = importlib.import_module(f"loop{{number}}")
    function = next(vars(module)[name] for name in {STARTS} if name in vars(module))
    wanted = inspect.signature(function).parameters
    model, cell = nn.Linear(4, 3).cuda(), nn.GRUCell(4, 3).cuda()
    given = dict(
        device=torch.device("cuda"), model=model, policy=nn.Linear(4, 3).cuda(), cell=cell, env=Env(),
        x0=torch.ones(2), loader=[(torch.randn(5, 4), torch.randn(5, 3)) for _ in range(3)],
        optimizer=torch.optim.SGD((cell if "cell" in wanted else model).parameters(), lr=0.01),
    )
    function(**{{name: given[name] for name in wanted}})
"""
# They wait, and give no data to the host.
WAITS = ("copy to the device", "synchronize", "multinomial", "normal")


@pytest.mark.slow
def test_the_marked_lines_read_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text(DRIVER)
    for number, loop in enumerate(loops()):
        (tmp_path / f"loop{number}.py").write_text(loop.code)
    command = ["python", "driver.py", str(len(loops()))]
    assert run(command, root=tmp_path, out=tmp_path / "out", devices=1) == 0
    result = read_result(tmp_path / "out")
    assert result is not None
    found = {(sync.file, sync.line) for sync in result.syncs if sync.kind not in WAITS}
    marked = {
        (f"loop{number}.py", line) for number, loop in enumerate(loops()) for line in loop.reads | loop.later
    }
    assert found - {(file, line) for file, line in found if file == "driver.py"} == marked


@pytest.mark.parametrize("setting", SETTINGS)
def test_recall_and_precision(setting: str) -> None:
    missed = [(loop.name, n) for loop in loops() for n in loop.reads - reported(loop, setting)]
    false = [(x.name, n) for x in loops() for n in reported(x, setting) - x.reads - x.waits]
    reads = sum(len(loop.reads) for loop in loops())
    seen = reads - len(missed)
    assert seen / reads >= 0.85, missed
    assert seen / (seen + len(false)) >= 0.97, false


def test_there_are_many() -> None:
    assert len({loop.name for loop in loops()}) >= 60
