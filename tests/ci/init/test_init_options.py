"""Options however a program declares them, and what a golden run gives them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ci.init import main

TRAINS = """
import torch

def fit():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
"""
ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-s", "--seed", type=int, default=0)
parser.add_argument("--num_epochs", type=int, default=100)
parser.add_argument("--no-cuda", action="store_true")
parser.add_argument("--wandb", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--output_dir", default="runs")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--scales", type=float, nargs="+", default=[0.4, 1.0])
parser.parse_args()
fit()
"""
SUB_PARSERS = """
import argparse
parser = argparse.ArgumentParser()
commands = parser.add_subparsers()
evaluate = commands.add_parser("evaluate")
evaluate.add_argument("--checkpoint", required=True)
train = commands.add_parser("train")
train.add_argument("--steps", type=int, default=1000)
parser.parse_args()
fit()
"""
CLICK = """
import click

@click.command()
@click.option("--seed", default=0)
@click.option("--compile/--no-compile", default=True)
@click.option("--amp", is_flag=True)
@click.option("--max-steps", default=4)
def run(seed, compile, amp, max_steps):
    fit()

if __name__ == "__main__":
    run()
"""
TYRO = """
import tyro
from dataclasses import dataclass

@dataclass
class Args:
    seed: int = 1
    cuda: bool = True
    track: bool = False
    total_timesteps: int = 10_000_000
    num_envs: int = 8
    num_steps: int = 128
    num_iterations: int = 0

if __name__ == "__main__":
    args = tyro.cli(Args)
    fit()
"""
HF = """
from dataclasses import dataclass
from transformers import HfArgumentParser

@dataclass
class Model:
    seed: int = 1

@dataclass
class Training:
    max_steps: int = 500
    output_dir: str = "out"

if __name__ == "__main__":
    HfArgumentParser((Model, Training)).parse_args_into_dataclasses()
    fit()
"""
COMPUTED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--manualSeed", type=int)
parser.add_argument("--disable-cuda", action="store_true")
parser.add_argument("--max-iters", type=int, default=int(50e6))
parser.add_argument("--epochs", type=int, default=1)
parser.parse_args()
fit()
"""
SWEEP = (
    "import sys\nmax_iters = 5000\ndevice = 'cuda'\nfor a in sys.argv[1:]:\n    globals().update()\nfit()\n"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            ARGPARSE,
            "--seed {seed} --num_epochs 2 --no-cuda --no-wandb --output_dir {out}",
        ),
        (SUB_PARSERS, "train --steps 12"),
        (CLICK, "--seed {seed} --no-compile"),
        (TYRO, "--seed {seed} --no-cuda"),
        (COMPUTED, "--manualSeed {seed} --disable-cuda --max-iters 12"),
        (HF, "--seed {seed} --max_steps 12 --output_dir {out}"),
        (SWEEP, "--max_iters=12 --device={device}"),
    ],
    ids=["argparse", "sub-parsers", "click", "tyro", "computed defaults", "transformers", "globals"],
)
def test_options_of_every_kind_are_given_values(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAINS + text)
    assert main(["--root", str(tmp_path), "--dry-run"]) == 0
    found = re.search(r"^command = (\[.*\])$", capsys.readouterr().out, re.MULTILINE)
    assert found is not None
    assert json.loads(found[1]) == ["python", "train.py", *words.split()]


def test_what_the_user_gives_is_not_given_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(TRAINS + ARGPARSE)
    more = "--num_epochs 5 --seed=9"
    assert main(["--root", str(tmp_path), "--dry-run", "--args", more]) == 0
    printed = capsys.readouterr().out
    assert '"--num_epochs", "5", "--seed=9"]' in printed
    assert printed.count("--num_epochs") == 1


@pytest.mark.parametrize(
    ("declared", "name", "value"),
    [("'-net', required=True", "-net", "-net VALUE"), ("'filename', type=str", "filename", "FILENAME")],
)
def test_a_required_argument_is_asked_for(
    declared: str, name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument({declared})\n"
    (tmp_path / "train.py").write_text(TRAINS + option + "fit()\n")
    assert main(["--root", str(tmp_path), "--dry-run"]) == 2
    asked = f'train.py needs {name}, which nobody can guess; give it with --args "{value}"'
    assert asked in capsys.readouterr().err
    assert main(["--root", str(tmp_path), "--dry-run", "--args", value]) == 0


def test_options_of_a_module_that_is_a_script_of_its_own_are_not_those_of_who_imports_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--device')\n"
    indented = "".join(f"    {line}\n" for line in own.splitlines())
    (tmp_path / "judge.py").write_text(f"def judge(): pass\nif __name__ == '__main__':\n{indented}")
    (tmp_path / "train.py").write_text(f"{TRAINS}from judge import judge\nfit()\n")
    assert main(["--root", str(tmp_path), "--entry", "train.py", "--dry-run"]) == 0
    assert 'command = ["python", "train.py"]' in capsys.readouterr().out
