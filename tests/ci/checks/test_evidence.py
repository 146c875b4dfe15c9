"""The check of what a change is: proven equal, accepted with a reason, or left to read."""

import json
import re
from pathlib import Path

import pytest

from ci.gate import main
from codemods.review.cli import main as review
from tests.trees import commit, write

BEFORE = """\
def train(model, data, rate):
    def step(batch):
        loss = model(batch)
        loss.backward()
        model.step(rate)
    for batch in data:
        step(batch)
"""
LIFTED = """\
def _step(batch, *, model, rate):
    loss = model(batch)
    loss.backward()
    model.step(rate)


def train(model, data, rate):
    for batch in data:
        _step(batch, model=model, rate=rate)
"""
CONFIG = '[tool.gate.evidence]\npaths = ["app"]\naccepted = "accepted.toml"\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {"app/train.py": BEFORE, "pyproject.toml": CONFIG, "README.md": "before\n"}
    root = write(tmp_path / "repository", files)
    commit(root)
    return root


def gate(root: Path, *options: str) -> int:
    return main(["--root", str(root), "--base", "HEAD", "--only", "evidence", *options])


def accept(root: Path, reason: str) -> None:
    file = root / "accepted.toml"
    review(["--root", str(root), "--base", "HEAD", "app", "--output-format", "accept", "--output", str(file)])
    file.write_text(file.read_text().replace('reason = ""', f'reason = "{reason}"'))


def test_a_lift_passes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "app" / "train.py").write_text(LIFTED)
    (repository / "README.md").write_text("not below the paths\n")
    assert gate(repository) == 0
    assert "2 of 2 definitions proven equal" in " ".join(capsys.readouterr().out.split())


def test_a_changed_line_fails_with_its_place(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "app" / "train.py").write_text(LIFTED.replace("    loss.backward()\n", ""))
    out = repository.parent / "out"
    assert gate(repository, "--output", str(out)) == 1
    assert "neither proven nor accepted: 1 gone" in " ".join(capsys.readouterr().out.split())
    [result] = json.loads((out / "gate.sarif").read_text())["runs"][0]["results"]
    assert "loss.backward()" in result["message"]["text"]
    [page] = out.rglob("review.md")
    assert "loss.backward()" in page.read_text()


def test_what_was_accepted_passes_and_stays_known(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "app" / "train.py").write_text(LIFTED.replace("    loss.backward()\n", ""))
    accept(repository, "the model does it")
    assert gate(repository) == 0
    assert "1 places accepted" in " ".join(capsys.readouterr().out.split())
    commit(repository)
    assert gate(repository) == 0
    (repository / "app" / "train.py").write_text(LIFTED)
    assert gate(repository) == 1


def test_an_entry_that_is_not_there_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "accepted.toml").write_text('version = 1\n[[accepted]]\nid = "1"\nreason = "x"\n')
    assert gate(repository) == 1
    assert "1 accepted that are not there" in " ".join(capsys.readouterr().out.split())


RUN = """\
command = ["python", "-m", "app.main", "{out}"]
budget = 2.0

[observe]
steps = false

[events]
files = "log.jsonl"
"""
MAIN = """\
import json
import os
import pathlib
import sys

from app.train import train


class Model:
    def __call__(self, batch):
        return self

    def backward(self):
        pass

    def step(self, rate):
        if rate > 1:
            print("fast")


train(Model(), [1, 2], 0.5)
with pathlib.Path(os.environ["TIMES"]).open("a") as times:
    times.write("run\\n")
pathlib.Path(sys.argv[1], "log.jsonl").write_text(json.dumps({"type": "end"}) + "\\n")
"""


@pytest.fixture
def with_run(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIMES", str(repository.parent / "times"))
    config = '[tool.gate]\nruns = ["fit"]\n[tool.gate.evidence]\npaths = ["app"]\nruns = ["fit"]\n'
    write(repository, {"app/main.py": MAIN, "golden/runs/fit.toml": RUN, "pyproject.toml": config})
    commit(repository)
    return repository


def test_what_the_runs_execute_passes(with_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lifted = LIFTED.replace("    loss.backward()\n", "    result = loss\n    result.backward()\n")
    (with_run / "app" / "train.py").write_text(lifted)
    assert gate(with_run, "--only", "golden") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "3 changed statements ran" in out
    assert re.search(r"golden fit passed .* \d+ of \d+ changed lines ran", out)
    # The base twice, this tree once; both checks read the same record.
    assert (with_run.parent / "times").read_text().count("run") == 3


def test_what_no_run_executes_fails(with_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_run / "app" / "main.py"
    path.write_text(MAIN.replace('print("fast")', 'print("quick")'))
    assert gate(with_run, "--output", str(with_run.parent / "out")) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "neither proven, run nor accepted: 1 gone, 1 new" in out
    [page] = (with_run.parent / "out").rglob("review.md")
    assert "print('quick')" in page.read_text()


def test_a_run_that_nothing_compares_says_nothing(with_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = (with_run / "pyproject.toml").read_text()
    (with_run / "pyproject.toml").write_text(config.replace('[tool.gate]\nruns = ["fit"]\n', ""))
    assert gate(with_run) == 1
    assert "runs of [tool.gate] does not compare fit" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ('paths = ["lib"]', "lib: neither side has such a file or folder"),
        ('paths = ["app"]\naccepted = "wrong.toml"', "wrong.toml: version must be 1"),
    ],
)
def test_what_can_not_be_judged_fails(
    change: str, told: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "pyproject.toml").write_text(f"[tool.gate.evidence]\n{change}\n")
    (repository / "wrong.toml").write_text("version = 2\n")
    assert gate(repository) != 0
    out = capsys.readouterr()
    assert told in " ".join((out.out + out.err).split())
