"""What a command says beside its verdict: patterns that match nothing, progress."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import torch

from golden.check.progress import Progress
from golden.cli import _COMMANDS, program
from golden.compare.steps import element_size
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


@pytest.mark.slow
def test_doctor_says_which_patterns_match_nothing(project: Project) -> None:
    project.script(UNSEEDED)
    project.run_file(RUN)
    result = project.golden("doctor", "train")
    assert result.code == 0, result
    assert "unstable = 'made_*' matches no field" in result.err
    assert "unstable = 'id'" not in result.err
    assert "not compared: what loader processes read to the host" in result.out


@pytest.mark.slow
def test_a_plain_program_gets_no_note(project: Project) -> None:
    project.script(UNSEEDED.replace(", num_workers=1", ""))
    project.run_file(RUN.replace(', "made_*"', ""))
    result = project.golden("--quiet", "doctor", "train")
    assert (result.code, result.err) == (0, ""), result
    assert result.out.splitlines()[0] == "identical: train run 1 and train run 2"


def test_a_line_tells_how_far_a_program_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "process-1").mkdir()
    (tmp_path / "process-1" / "steps.jsonl").write_text('{"step":0}\n{"step":1}\n')
    with subprocess.Popen(["true"]) as process:
        told, said = Progress(), ""
        with told.shown(quiet=False, every=0.05), registered(process, Program("train", tmp_path, 7.0)):
            while not said:
                said = capsys.readouterr().err
        with told.shown(quiet=True, every=0.05):
            told.say("nothing")
    assert re.match(r"train: \d+ s of about 7 s, 2 optimizer steps\n", said)
    assert "nothing" not in capsys.readouterr().err


@pytest.mark.slow
def test_commands_that_only_read_load_no_torch(reference: Callable[[], Path], tmp_path: Path) -> None:
    trace, root = str(reference()), str(reference().parent.parent)
    options = [
        ["--help"],
        ["list", "--root", root],
        ["diff", trace, trace],
        ["mutate", "-h"],
    ]
    options += [["report", trace, trace, "-o", str(tmp_path / f"told.{form}")] for form in ("md", "xml")]
    code = (
        f"import sys; from golden.cli import main; assert not any([main(argv) for argv in {options}]);"
        "import ci.judge, ci.init; print(sorted({'torch', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done


def test_every_dtype_has_the_size_that_its_name_says() -> None:
    dtypes = {dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
    assert len(dtypes) > 20
    for dtype in dtypes:
        assert element_size(str(dtype).removeprefix("torch.")) == dtype.itemsize, dtype


def test_summaries_are_those_of_the_commands() -> None:
    for name, (_, summary) in _COMMANDS.items():
        command = program.get_command(click.Context(program), name)
        assert command is not None
        assert command.name == name
        assert " ".join((command.help or "").split()).startswith(summary.split(".")[0].split(",")[0])
