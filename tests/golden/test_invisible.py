"""A program that looks at its own operations sees them, and none of the observer's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from golden.record import find_run, record_run

WATCHING = """
import inspect, random, torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

def watch():
    dispatched, called = [], []

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            dispatched.append(str(function))
            return function(*args, **(kwargs or {}))

    class Called(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            called.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    class Drawn(random.Random):
        def __init__(self, generator=None):
            super().__init__(generator)

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for mode in (Dispatched, Called):
        with mode():
            (weight * 2).sum().backward()
            torch.autograd.backward(tensors=(weight * 3).sum(), inputs=[weight])
            weight.grad.sum().item()
            optimizer.step()
    parameters = list(inspect.signature(torch.autograd.backward).parameters)
    return [dispatched, called, parameters, Drawn(generator=3).random()]
"""


def test_modes_of_a_program_see_nothing_of_the_observer(tmp_path: Path) -> None:
    (tmp_path / "golden" / "runs").mkdir(parents=True)
    (tmp_path / "golden" / "runs" / "train.toml").write_text('command = ["python", "train.py"]\nbudget = 9\n')
    writes = 'import json\nopen("seen.json", "w").write(json.dumps(watch()))\n'
    (tmp_path / "train.py").write_text(WATCHING + writes)
    record_run(find_run("train", tmp_path), root=tmp_path, out=tmp_path / "out")
    here: dict[str, Any] = {}
    exec(WATCHING, here)
    assert json.loads((tmp_path / "seen.json").read_text()) == here["watch"]()
