"""What a command says beside its verdict: what only golden seeds, patterns that match nothing, progress."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from golden.check.progress import Progress
from golden.record.live import Program, registered
from tests.golden.project import Project

UNSEEDED = """
import json, random, sys
from pathlib import Path
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in DataLoader([torch.ones(4)] * 4, batch_size=2, num_workers=1):
    loss = model(x * random.random()).sum()
    loss.backward()
    optimizer.step()
(Path(sys.argv[1]) / "scores.json").write_text(json.dumps({"id": 7, "loss": loss.item()}))
"""
RUN = """
command = ["python", "train.py", "{out}"]
budget = 3
[outputs]
unstable = ["id", "made_*"]
"""


def test_doctor_says_what_only_golden_seeds_and_which_patterns_match_nothing(project: Project) -> None:
    project.script(UNSEEDED)
    project.run_file(RUN)
    result = project.golden("doctor", "train", "--root", project.root)
    assert result.code == 0, result
    assert "global generator of python and of torch, and never seeds it" in result.err
    assert "unstable = 'made_*' matches no field" in result.err
    assert "unstable = 'id'" not in result.err
    assert "not compared: what loader processes read to the host" in result.out


def test_a_seeded_program_gets_no_note(project: Project) -> None:
    seeded = UNSEEDED.replace("model =", "torch.manual_seed(1); random.seed(2)\nmodel =", 1)
    project.script(seeded.replace(", num_workers=1", ""))
    project.run_file(RUN.replace(', "made_*"', ""))
    result = project.golden("--quiet", "doctor", "train", "--root", project.root)
    assert (result.code, result.err) == (0, ""), result


def test_a_line_tells_how_far_a_program_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "process-1").mkdir()
    (tmp_path / "process-1" / "steps.jsonl").write_text('{"step":0}\n{"step":1}\n')
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"]) as process:
        told = Progress()
        with told.shown(quiet=False, every=0.05), registered(process, Program("train", tmp_path, 7.0)):
            process.wait()
        with told.shown(quiet=True, every=0.05):
            told.say("nothing")
    lines = capsys.readouterr().err.splitlines()
    assert "train: 0 s of about 7 s, 2 optimizer steps" in lines
    assert "nothing" not in lines


def test_help_loads_no_torch() -> None:
    code = "import sys; from golden.cli import main; main(['--help']); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_summaries_are_those_of_the_commands() -> None:
    from golden.cli import _SUMMARIES
    from golden.commands import COMMANDS

    assert list(COMMANDS) == list(_SUMMARIES)
    for name, command in COMMANDS.items():
        assert " ".join((command.help or "").split()).startswith(_SUMMARIES[name].split(".")[0].split(",")[0])
