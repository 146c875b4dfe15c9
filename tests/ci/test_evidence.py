"""The check of what a change is: proven equal, accepted with a reason, or left to read."""

import json
import subprocess
from pathlib import Path

import pytest

from ci.gate import main
from codemods.review.cli import main as review

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
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "nobody")
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "repository"
    (root / "app").mkdir(parents=True)
    (root / "app" / "train.py").write_text(BEFORE)
    (root / "pyproject.toml").write_text(CONFIG)
    (root / "README.md").write_text("before\n")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "before"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
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
    scan = repository / "scan.sarif"
    assert gate(repository, "--sarif", str(scan), "--out", str(repository.parent / "out")) == 1
    assert "left to read: 1 gone" in " ".join(capsys.readouterr().out.split())
    [result] = json.loads(scan.read_text())["runs"][0]["results"]
    assert "loss.backward()" in result["message"]["text"]
    [page] = (repository.parent / "out").rglob("review.md")
    assert "loss.backward()" in page.read_text()


def test_what_was_accepted_passes_and_stays_known(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "app" / "train.py").write_text(LIFTED.replace("    loss.backward()\n", ""))
    accept(repository, "the model does it")
    assert gate(repository) == 0
    assert "1 places accepted" in " ".join(capsys.readouterr().out.split())
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-qm", "after"], cwd=repository, check=True)
    assert gate(repository) == 0
    (repository / "app" / "train.py").write_text(LIFTED)
    assert gate(repository) == 1


def test_an_entry_that_is_not_there_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "accepted.toml").write_text('version = 1\n[[accepted]]\nid = "1"\nreason = "x"\n')
    assert gate(repository) == 1
    assert "1 accepted that are not there" in " ".join(capsys.readouterr().out.split())


def test_without_a_base_it_is_named_as_left_out(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(repository)]) == 2
    assert "evidence need" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    "weaker", ['paths = ["app/train.py"]\naccepted = "accepted.toml"', 'paths = ["app"]', ""]
)
def test_a_change_can_not_ask_for_less(
    weaker: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = f"[tool.gate.evidence]\n{weaker}\n" if weaker else "[tool.gate]\ncontracts = true\n"
    (repository / "pyproject.toml").write_text(table)
    assert main(["--root", str(repository), "--base", "HEAD", "--only", "policy"]) == 1
    assert "evidence" in capsys.readouterr().out
