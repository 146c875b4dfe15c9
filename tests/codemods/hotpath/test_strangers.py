"""The strangers' loops: which lines read when they run, and how the checker does on them."""

from __future__ import annotations

import inspect
import random
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.codemods.hotpath.device import Device
from tests.codemods.hotpath.strangers import SETTINGS, STARTS, Loop, loops, reported


class _Env:
    """Three steps of nothing."""

    def __init__(self) -> None:
        self.steps = 0

    def reset(self) -> Any:
        self.steps = 0
        return np.zeros(4)

    def step(self, action: int) -> Any:
        return np.zeros(4)

    def act(self, action: int) -> Any:
        self.steps += 1
        return np.zeros(4), 0.5, self.steps > 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
@pytest.mark.parametrize("loop", loops(), ids=lambda loop: loop.name)
def test_the_marked_lines_read_and_no_other(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"<{loop.name}>"
    module = ModuleType("stranger")
    monkeypatch.setitem(sys.modules, "stranger", module)  # dataclasses look themselves up
    torch.manual_seed(0)
    random.seed(0)
    with Device(path) as device:
        place = torch.device("meta")
        exec(compile(loop.code, path, "exec"), module.__dict__)
        function = next(vars(module)[name] for name in STARTS if name in vars(module))
        wanted = inspect.signature(function).parameters
        model, cell = nn.Linear(4, 3).to(place), nn.GRUCell(4, 3).to(place)
        given = {
            "device": place,
            "model": model,
            "policy": nn.Linear(4, 3).to(place),
            "cell": cell,
            "env": _Env(),
            "x0": torch.ones(2),
            "loader": [(torch.randn(5, 4), torch.randn(5, 3)) for _ in range(3)],
            "optimizer": torch.optim.SGD((cell if "cell" in wanted else model).parameters(), lr=0.01),
        }
        function(**{name: given[name] for name in wanted})
    assert device.lines == loop.reads | loop.later


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
