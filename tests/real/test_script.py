"""``make real`` on a corpus of two small programs: what it writes, and when it fails."""

from __future__ import annotations

import importlib.util
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.real import tables

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "real.py"
TRAIN = """
import math


def scale(x):
    return math.sqrt(x)


def shift(x):
    return scale(x) + 1


def train(rows, agent):
    total = 0

    def add(row):
        return row + len(rows)

    def kept(row):
        return row

    keep = kept
    for row in rows:
        total = add(row) + agent.step(keep(row)) + shift(row)
    return total
"""
PLAN = """
version = 1
source = "train.py"
function = "train"

[[move]]
to = "helpers.py"
names = ["add"]

[loop]
class = "Trainer"
to = "trainer.py"
method = "run"
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    spec = importlib.util.spec_from_file_location("real_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for folder, name in (("repos", "small"), ("flagship", "studied")):
        (tmp_path / "corpus" / folder).mkdir(parents=True)
        with tarfile.open(tmp_path / "corpus" / folder / f"{name}-12ab.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo(f"{name}/train.py")
            member.size = len(TRAIN)
            archive.addfile(member, io.BytesIO(TRAIN.encode()))
    (tmp_path / "corpus" / "flagship" / "plan.toml").write_text(PLAN)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "about.md").write_text("# Real programs\n")
    monkeypatch.setenv("REAL_PROGRAMS", str(tmp_path / "corpus"))
    monkeypatch.setattr(tables, "FOLDER", tmp_path / "pages")
    return lambda *arguments: script.main(["--no-packages", *arguments])


def test_pages_are_written_and_hold(run: Callable[..., int], tmp_path: Path) -> None:
    assert run("--update") == 0
    verdicts = (tmp_path / "pages" / "verdicts" / "studied.txt").read_text()
    assert "helper train.py train.add: lifted\n" in verdicts
    assert "helper train.py train.kept: refused value-use\n" in verdicts
    assert "planned Trainer: lifted\n" in verdicts
    assert "wrapped train.py train.kept: lifted\n" in verdicts
    assert "1 of 2 are lifted, 1 more with a wrapper." in (tmp_path / "pages" / "small.md").read_text()
    assert "| [small](small.md) | 1 | 2 | 1 |" in (tmp_path / "pages" / "README.md").read_text()
    before = {path: path.read_text() for path in sorted((tmp_path / "pages").rglob("*.*"))}
    assert run() == 0
    assert before == {path: path.read_text() for path in sorted((tmp_path / "pages").rglob("*.*"))}


def test_a_worse_verdict_fails_until_it_is_approved(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--update", "--stage", "helpers") == 0
    held = tmp_path / "pages" / "verdicts" / "small.txt"
    held.write_text(held.read_text().replace("refused value-use", "lifted"))
    capsys.readouterr()
    assert run("--update", "--stage", "helpers") == 1
    said = capsys.readouterr()
    assert (
        "- helper train.py train.kept: lifted\n  + helper train.py train.kept: refused value-use" in said.out
    )
    assert "help:" in said.err
    assert run("--stage", "helpers", "--approve", "it is a value") == 0
    assert run("--stage", "helpers") == 0
    page = (tmp_path / "pages" / "small.md").read_text()
    assert "- 1 verdicts that were better: it is a value" in page


def test_no_corpus_is_told(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sorted((tmp_path / "corpus" / "repos").iterdir()):
        path.unlink()
    (tmp_path / "corpus" / "repos").rmdir()
    assert run() == 2
    assert "help: name the folder that has one, with REAL_PROGRAMS=DIR" in capsys.readouterr().err


def test_an_unknown_program_is_an_error(run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("--only", "nobody")
    assert stopped.value.code == 2
    assert "no program nobody; there are small, studied" in capsys.readouterr().err
