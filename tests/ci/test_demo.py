"""The demonstration as a user runs it: its verdicts, its exit status, and its errors."""

import re
from pathlib import Path

import pytest

from ci.demo import SEED_GRADIENTS, DemoError, NotPlanted, main, plant, run_demo
from golden.trace.trace import load_trace

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_extraction_changes_nothing_and_the_swap_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (REPOSITORY / "examples/monolith/vectorized.py").read_bytes()
    kept = tmp_path / "kept"
    assert main(["--keep", str(kept)]) == 0
    printed = capsys.readouterr().out
    identical, _, different = printed.partition("after the swap")
    assert "identical: the monolith and the extracted trainer" in identical
    assert "different: the monolith and the trainer with the swap" in different
    assert "first divergence: step" in different
    assert "env" in different
    assert "gradient slots." in different
    assert re.search(r"\b[1-9]\d* helpers lifted", printed)
    assert len(load_trace(kept / "the-monolith").events) > 100
    assert (REPOSITORY / "examples/monolith/vectorized.py").read_bytes() == before


def test_a_folder_that_exists_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--keep", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"demo: {tmp_path} exists already; name another folder or remove it\n"


@pytest.mark.slow
def test_a_data_folder_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "nowhere"
    assert main(["--data", str(missing)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"demo: run ppo_small.base: data folder {missing} does not exist"


@pytest.mark.slow
def test_a_folder_without_the_files_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert str(tmp_path) in last
    assert "Traceback" not in last


def test_an_unknown_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--date", "x"]) == 2
    assert "--date" in capsys.readouterr().err


def test_an_incomplete_clone(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    with pytest.raises(DemoError, match="src is missing; run the demo from a complete clone"):
        run_demo(tmp_path / "repository", tmp_path, data=None, notify=print)


def test_a_swap_that_finds_no_place_is_an_error(tmp_path: Path) -> None:
    target = tmp_path / SEED_GRADIENTS.file
    target.parent.mkdir(parents=True)
    target.write_text(SEED_GRADIENTS.first + SEED_GRADIENTS.between + SEED_GRADIENTS.second)
    plant(tmp_path, SEED_GRADIENTS)
    with pytest.raises(NotPlanted, match="occur 0 times"):
        plant(tmp_path, SEED_GRADIENTS)
