"""The commands of the guides run in a small repository, and end with the status that the guide gives them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_commands import BLOCK, words

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]

MODULE = '''"""A model that is fitted."""

import torch
from torch import nn


def fit(steps: int, device: str) -> float:
    torch.manual_seed(0)
    model = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    score = 0.0
    for step in range(steps):
        x = torch.randn(8, 4).to(device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        score = loss.item()
    return score
'''
SCRIPT = '''"""Fit the model and print its score."""

import argparse

import torch

from src.train import fit

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    print(fit(options.steps, options.device))
'''
# Without torch, so that a mutant takes no time to start.
PLAIN = '''"""A sum that is computed."""


def fit(steps: int, device: str) -> float:
    score = 0.0
    for step in range(steps):
        score += 0.5 * step
    return score
'''

# What the repository has besides two commits and a renamed variable, before the first command of a page.
RUN_FILE = "golden init fit -- python train.py --steps 3 --device {device}"
BASELINE = "codemods hotpath src --baseline hotpath-baseline.toml --update-baseline"
PREPARED = {
    "gate.md": [],
    "golden.md": [],
    "hotpath.md": [BASELINE],
    "mutate.md": [
        f"cat > src/train.py <<'END'\n{PLAIN}END",
        "sed -i -e '/^import torch/d' -e 's/default=\"cuda\".*/default=\"cpu\")/' train.py",
        RUN_FILE,
        "printf '\\n[observe]\\nsteps = false\\n' >> golden/runs/fit.toml",
    ],
    "ranks.md": [],
    "review.md": ["mkdir before after && cp train.py before && cp train.py after"],
    "simulated-gpu.md": [RUN_FILE],
}
# Commands that end with another status than 0, as their page explains.
STATUS = {
    ("hotpath.md", "codemods hotpath src"): 1,
    ("review.md", "codemods review --base v1 --head v2 src"): 1,
}
NOT_RUN = {
    ("ranks.md", "golden ab --base main -- torchrun --nproc-per-node 4 train.py --steps 20"): (
        "three runs of four ranks; golden/runs/distributed.toml runs torchrun with two"
    ),
}


def lines(page: str) -> list[str]:
    """The command lines in the blocks of a page, without their comments."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = [line.split("  #")[0].strip() for block in BLOCK.findall(text) for line in block.splitlines()]
    return [line for line in found if words(line) or line.startswith("git ")]


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command line."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "gitconfig").write_text("[user]\nname = a\nemail = a@b.c\n[init]\ndefaultBranch = main\n")
    return {
        **{name: value for name, value in os.environ.items() if name not in ("CI", "GOLDEN_DATA")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
    }


@pytest.fixture
def repository(tmp_path: Path, environment: dict[str, str]) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    (folder / ".gitignore").write_text("__pycache__/\nout/\nbefore/\nafter/\n", encoding="utf-8")
    (folder / "src" / "train.py").write_text(MODULE, encoding="utf-8")
    done = run(
        "git init -q && git add -A && git commit -qm One && git tag v1"
        " && sed -i 's/lr=0.1/lr=0.2/' src/train.py && git commit -qam Two && git tag v2"
        " && sed -i 's/score/last/' src/train.py",
        folder,
        environment,
    )
    assert done.returncode == 0, done.stdout
    return folder


@pytest.mark.parametrize("page", PREPARED)
def test_the_commands_of_a_guide_run(page: str, repository: Path, environment: dict[str, str]) -> None:
    for command in PREPARED[page]:
        done = run(command, repository, environment)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    for command in lines(page):
        if (page, command) in NOT_RUN:
            continue
        done = run(re.sub(r"\bRUN\b", "fit", command), repository, environment)
        assert done.returncode == STATUS.get((page, command), 0), f"$ {command}\n{done.stdout}"


def test_the_tables_name_lines_of_the_pages() -> None:
    known = {(page, line) for page in PREPARED for line in lines(page)}
    assert known >= {*STATUS, *NOT_RUN}
