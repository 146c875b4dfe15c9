"""A small repository of somebody else's, with everything that the gate can check."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.trees import commit
from tests.trees import write as write_files

FILES = {
    "pyproject.toml": """\
[tool.gate]
contracts = true
plans = ["plans/*.toml"]
runs = ["fit"]
counts = ["fit"]

[tool.gate.hotpath]
paths = ["app"]

[[tool.gate.imports]]
module = "app.settings"
without = ["torch", "app.train"]

[[tool.gate.seams]]
file = "app/train.py"

[tool.gate.tests]
command = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]

[tool.importlinter]
root_package = "app"

[[tool.importlinter.contracts]]
name = "settings at the bottom"
type = "layers"
layers = ["app.train", "app.settings"]
""",
    "app/__init__.py": "",
    "app/settings.py": "STEPS = 4\n",
    "app/hub.py": """\
import json


def emit(file, **event):
    file.write(json.dumps(event) + "\\n")
""",
    "app/train.py": """\
import argparse
from pathlib import Path

import torch

from app.hub import emit
from app.settings import STEPS
from app.updates import update


def report(file, step, loss):
    emit(file, type="step", step=step, loss=loss.item())


def train(seed, out):
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with (Path(out) / "log.jsonl").open("w") as file:
        for step in range(STEPS):
            loss = model(torch.randn(8, 3)).square().mean()
            update(optimizer, loss)
            report(file, step, loss.detach())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    train(arguments.seed, arguments.out)
""",
    "app/before.py": """\
def scaled(values, factor):
    def scale(value):
        return value * factor

    return [scale(value) for value in values]
""",
    "app/envs.py": """\
import torch

from app.scores import score


def evaluate(envs, stream):
    losses = []
    for env in envs:
        losses.append(score(env))
    stream.synchronize()
    return torch.stack(losses).tolist()
""",
    "app/scores.py": """\
def score(env):
    return env.loss().detach()
""",
    "app/updates.py": """\
def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "plans/split.toml": """\
version = 1
source = "app/before.py"
function = "scaled"
root = "app"
rest = "scaled.py"

[[move]]
to = "scaling.py"
docstring = "Scale a value."
names = ["scale"]
""",
    "tests/test_train.py": """\
import io

from app import train


def test_the_hub_is_told(monkeypatch):
    seen = []
    monkeypatch.setattr(train, "emit", lambda file, **event: seen.append(event))
    train.report(io.StringIO(), 3, train.torch.tensor(1.0))
    assert seen == [{"type": "step", "step": 3, "loss": 1.0}]
""",
    "golden/runs/fit.toml": """\
command = ["python", "-m", "app.train", "--seed", "{seed}", "--out", "{out}", "--device", "{device}"]
seed = 4
profile = "portable"
budget = 5

[events]
files = "log.jsonl"
""",
}


def make(root: Path) -> Path:
    """Write the repository, carry out its plan, record its golden, commit it."""
    write_files(root, FILES)
    environment = {**os.environ, "CI": ""}
    for module, *arguments in (
        ("codemods.extract", "--plan", "plans/split.toml", "--root", ".", "--write"),
        ("golden", "record", "fit", "--update"),
    ):
        command = [sys.executable, "-m", module, *arguments]
        subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
    (root / ".gitignore").write_text("__pycache__/\n")
    commit(root)
    return root


def change(root: Path, file: str, before: str, after: str) -> None:
    """Replace a piece of text that occurs once."""
    path = root / file
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


Way = Callable[[Path], object]
"""What a branch does to a repository."""


def write(file: str, text: str) -> Way:
    """Write a file."""
    return lambda root: write_files(root, {file: text})


def append(file: str, text: str) -> Way:
    """Add to a file's end."""
    return lambda root: (root / file).write_text((root / file).read_text() + text)


def swap(file: str, before: str, after: str) -> Way:
    """Replace a piece of a file."""
    return lambda root: change(root, file, before, after)


def project(before: str, after: str) -> Way:
    """Replace a piece of pyproject.toml."""
    return swap("pyproject.toml", before, after)
