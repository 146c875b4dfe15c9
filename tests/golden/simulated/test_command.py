"""``golden syncs``: the table, other tools' JSON, another version, and what can't be run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from golden.cli import main
from golden.simulated.result import Result, Sync, compare

TRAIN = """
import torch
from torch import nn

def train(net, optimizer, x):
    for _ in range(4):
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # AFTER

net = nn.Linear(4, 2).cuda()
x = torch.ones(8, 4, device="cuda")
train(net, torch.optim.SGD(net.parameters(), lr=0.1), x)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_has_the_dearest_line_first_and_says_what_is_not_simulated(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "train.py").write_text(TRAIN.replace("# AFTER", "print(loss.item())"))
    assert main(["syncs", "-o", "syncs.json", "--", "python", "train.py"]) == 0
    told = capsys.readouterr().out
    rows = [line.split() for line in told.splitlines() if "train.py:" in line]
    assert rows[0][:6] == ["4", "1", "a", "step", "item", "train.py:11"]
    assert rows[1][:6] == ["2", "once", "copy", "to", "the", "device"]
    assert "6 syncs at 2 lines in 4 steps" in told
    assert "no race between streams" in told
    assert "peak memory of cuda:0:" in told
    assert "not simulated: the bits and the speed of GPU kernels" in told
    table = json.loads((folder / "syncs.json").read_text())
    assert table["version"] == 1
    assert table["steps"] == 4
    assert table["syncs"][0]["line"] == 11
    assert table["syncs"][0]["text"] == "print(loss.item())"


def test_a_race_is_exit_status_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "race.py").write_text(
        "import torch\nx = torch.ones(4, device='cuda')\n"
        "for _ in range(3):\n    with torch.cuda.stream(torch.cuda.Stream()):\n        y = x * 2\n"
    )
    assert main(["syncs", "--", "python", "race.py"]) == 1
    told = capsys.readouterr().out
    assert "3 races between streams" in told
    assert "race.py:5: read on a side stream did not wait for the write on the default stream" in told
    assert "(race.py:2), 3 times" in told


@pytest.mark.slow
def test_what_fails_is_reported_up_to_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").write_text(TRAIN + "net(torch.ones(8, 4))\n")
    assert main(["syncs", "--", "python", "train.py"]) == 3
    told = capsys.readouterr()
    assert "2 syncs at 1 line" in told.out
    assert "golden: the program ended with exit status 1" in told.err


@pytest.mark.slow
def test_an_interrupted_program_is_reported_up_to_there(folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN.replace("range(4)", "iter(int, 1)").replace("# AFTER", "print(1)"))
    command = [sys.executable, "-m", "golden", "syncs", "--", "python", "-u", "train.py"]
    # A job in the background of a shell is started with interrupts ignored, and so are its children.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    assert "2 syncs at 1 line" in process.communicate(timeout=120)[0]
    assert process.returncode == 3


@pytest.mark.parametrize("program", ["print(1)\n", TRAIN.replace("cuda", "cpu")])
def test_what_has_no_tensor_on_the_device_was_not_counted(
    program: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plain.py").write_text(program)
    assert main(["syncs", "--", "python", "plain.py"]) == 4
    told = capsys.readouterr()
    assert "no tensor on the device, so nothing was counted; help: if it chooses its device" in told.err
    assert "0 syncs" not in told.out


def test_without_optimizer_steps_nothing_is_told_per_step(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "infer.py").write_text(
        "import torch\nx = torch.ones(4, device='cuda')\nfor _ in range(3):\n    x.sum().item()\n"
    )
    assert main(["syncs", "-o", "syncs.json", "--", "python", "infer.py"]) == 0
    told = capsys.readouterr().out
    assert "3 syncs at 1 line; no optimizer step was seen" in told
    assert "how often" not in told
    assert "once" not in told
    assert json.loads((folder / "syncs.json").read_text())["syncs"][0]["often"] == ""


def test_what_can_not_be_run_has_no_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plain.py").write_text("raise SystemExit(5)\n")
    assert main(["syncs", "--", "python", "plain.py"]) == 3
    (folder / "killed.py").write_text("import os, torch\nos.abort()\n")
    assert main(["syncs", "--", "python", "killed.py"]) == 3
    assert "ended with exit status -6 and left no report" in capsys.readouterr().err
    assert main(["syncs", "--", "python", "missing.py"]) == 2
    assert "no script missing.py" in capsys.readouterr().err
    assert main(["syncs", "--", "no-such-program"]) == 2
    assert "can't start no-such-program" in capsys.readouterr().err
    assert main(["syncs"]) == 2


@pytest.mark.slow
def test_another_version_is_compared_and_a_pure_move_is_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    (folder / "train.py").write_text(TRAIN.replace("# AFTER", "last = loss.item()"))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    helper, rest = TRAIN.replace("# AFTER", "last = loss.item()").split("\nnet = ", 1)
    (folder / "steps.py").write_text("# moved\n" + helper)
    (folder / "train.py").write_text(
        "import torch\nfrom torch import nn\nfrom steps import train\nnet = " + rest
    )
    assert main(["syncs", "--base", "HEAD", "--", "python", "train.py"]) == 0
    assert "the same syncs" in capsys.readouterr().out
    changed = helper.replace("last = loss.item()", "[loss.item() for _ in range(3)]; last = loss.item()")
    (folder / "steps.py").write_text(changed)
    assert main(["syncs", "--base", "HEAD", "--", "python", "train.py"]) == 1
    told = capsys.readouterr().out
    assert "4 -> 16" in told
    assert "+3 a step" in told
    assert "steps.py" in told


def _sync(count: int, **changes: object) -> Sync:
    fields = {"file": "a.py", "line": 3, "function": "f", "kind": "item", "call": "", "text": "x.item()"}
    return Sync(**{**fields, **changes, "count": count, "windows": 1})  # type: ignore[arg-type]


def _result(*syncs: Sync, steps: int = 4) -> Result:
    return Result(steps=steps, syncs=syncs)


def test_lines_are_the_same_where_they_only_moved_and_numbers_are_per_step() -> None:
    base = _result(_sync(4), _sync(4, line=9, text="y.item()"))
    moved = _sync(4, file="b.py", line=70, function="g.f")
    assert not compare(base, _result(moved, _sync(4, line=9, text="y.item()"))).differ
    (more,) = compare(base, _result(_sync(8), _sync(4, line=9, text="y.item()"))).changes
    assert (more.old, more.new) == (4, 8)
    assert more.a_step == 1
    (gone,) = compare(base, _result(_sync(4))).changes
    assert (gone.old, gone.new) == (4, 0)
    (new,) = compare(_result(_sync(4)), base).changes
    assert (new.old, new.new) == (0, 4)
    assert not compare(base, _result(_sync(8), _sync(8, line=9, text="y.item()"), steps=8)).differ


@pytest.mark.slow
def test_a_step_is_one_of_every_optimizer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "envs.py").write_text(
        "import torch\nnets = [torch.nn.Linear(2, 1).cuda() for _ in range(3)]\n"
        "optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]\n"
        "for _ in range(4):\n    for net, optimizer in zip(nets, optimizers):\n"
        "        loss = net(torch.ones(1, 2, device='cuda')).sum()\n        loss.backward()\n"
        "        loss.item()\n        optimizer.step()\n"
    )
    assert main(["syncs", "--", "python", "envs.py"]) == 0
    told = capsys.readouterr().out
    assert "18 syncs at 2 lines in 4 steps" in told
    assert "3 a step   item" in told
