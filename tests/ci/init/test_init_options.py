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
FIRE = """
import fire

def run(steps, out: str = "runs", epochs: int = 25, seed=42, *, compile=True, device="cuda"):
    fit()

if __name__ == "__main__":
    fire.Fire(run)
"""
CALLED = FIRE.replace("steps, ", "").replace("fire.Fire", "tyro.cli").replace("fire", "tyro")
WRAPPED = """
import pyrallis
from dataclasses import dataclass

@dataclass
class Config:
    seed: int = 0
    device: str = "cuda"
    compile: bool = True
    max_timesteps: int = 1_000_000
    eval_freq: int = int(5e3)

@pyrallis.wrap()
def train(config: Config):
    fit()

if __name__ == "__main__":
    train()
"""
OFF_POLICY = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--start_timesteps", default=25e3, type=int)
parser.add_argument("--max_timesteps", default=1e6, type=int)
parser.add_argument("--eval_freq", default=5e3, type=int)
parser.add_argument("--num_steps", default=1, type=int)
parser.parse_args()
fit()
"""
FEW_STEPS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--num_steps", default=1000001, type=int)
parser.add_argument("--start_steps", default=10, type=int)
parser.parse_args()
fit()
"""
COMPUTED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--manualSeed", type=int)
parser.add_argument("--disable-cuda", action="store_true")
parser.add_argument("--T-max", type=int, default=int(50e6))
parser.add_argument("--learn-start", type=int, default=20 * 10**3)
parser.add_argument("--evaluation-episodes", type=int, default=10 + 0)
parser.add_argument("--max-episode-length", type=int, default=int(108e3))
parser.parse_args()
fit()
"""
HYDRA = """
import hydra

@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(config):
    fit()

if __name__ == "__main__":
    main()
"""
CONFIG = """\
seed: 3
device: cuda
trainer:
  max_epochs: 90  # many
  compile: true
model:
  width: 64
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
        (TYRO, "--seed {seed} --no-cuda --total-timesteps 3072"),
        (FIRE, "--steps=12 --out={out} --epochs=2 --seed={seed} --compile=False --device={device}"),
        (CALLED, "--out {out} --epochs 2 --seed {seed} --no-compile --device {device}"),
        (WRAPPED, "--seed={seed} --device={device} --compile=False --max_timesteps=2048 --eval_freq=1024"),
        (OFF_POLICY, "--start_timesteps 300 --max_timesteps 400 --eval_freq 200"),
        (FEW_STEPS, "--num_steps 400"),
        (
            COMPUTED,
            "--manualSeed {seed} --disable-cuda --T-max 400 --learn-start 300 --evaluation-episodes 2",
        ),
        (HF, "--seed {seed} --max_steps 12 --output_dir {out}"),
        (
            HYDRA,
            "hydra.run.dir={out} seed={seed} device={device} trainer.max_epochs=2 trainer.compile=false",
        ),
        (SWEEP, "--max_iters=12 --device={device}"),
    ],
    ids=[
        *("argparse", "sub-parsers", "click", "tyro", "fire", "tyro of a function", "pyrallis"),
        *("off-policy", "few random steps", "computed defaults", "transformers", "hydra", "globals"),
    ],
)
def test_options_of_every_kind_are_given_values(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAINS + text)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text(CONFIG)
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


def test_a_required_option_with_one_dash_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('-net', required=True)\n"
    )
    (tmp_path / "train.py").write_text(TRAINS + option + "fit()\n")
    assert main(["--root", str(tmp_path), "--dry-run"]) == 2
    assert (
        'train.py needs -net, which nobody can guess; give it with --args "-net VALUE"'
        in capsys.readouterr().err
    )


def test_options_of_a_module_that_is_a_script_of_its_own_are_not_those_of_who_imports_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--device')\n"
    indented = "".join(f"    {line}\n" for line in own.splitlines())
    (tmp_path / "judge.py").write_text(f"def judge(): pass\nif __name__ == '__main__':\n{indented}")
    (tmp_path / "train.py").write_text(f"{TRAINS}from judge import judge\nfit()\n")
    assert main(["--root", str(tmp_path), "--entry", "train.py", "--dry-run"]) == 0
    assert 'command = ["python", "train.py"]' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "given"), [(ARGPARSE, "--seed {seed}"), (ARGPARSE, "--seed=3"), ("fit()\n", "--random {seed}")]
)
def test_a_seed_that_the_user_gives_is_seen(
    text: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAINS + text)
    main(["--root", str(tmp_path), "--args", f"{given} --output_dir x", "--try-seconds", "1"])
    assert "no option for a seed was seen" not in capsys.readouterr().out
