"""`codemods review` as a user calls it: in a git repository, with and without what it needs."""

from pathlib import Path

import pytest

from codemods.review.cli import main
from tests.codemods.review.conftest import BEFORE
from tests.trees import commit


def test_a_clean_tree_has_nothing_to_read(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "HEAD"]) == 0
    assert capsys.readouterr().out.startswith("0 Python files differ")


def test_a_move_in_the_working_tree_is_proven(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "steps.py").write_text("def step(x):\n    return x + 1\n")
    (repository / "train.py").write_text("from steps import step\n\n\ndef run(x):\n    return step(x)\n")
    assert main(["--base", "HEAD"]) == 0
    assert "2 Python files differ: 2 of 2 definitions proven equal (2 same)" in capsys.readouterr().out


def test_a_change_is_shown_with_its_lines(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "train.py").write_text(BEFORE.replace("1", "2"))
    commit(repository)
    assert main(["--base", "HEAD~1", "--head", "HEAD"]) == 1
    printed = capsys.readouterr().out
    assert "changed  train.py:1 step" in printed
    assert "before: train.py:2" in printed
    assert "after: train.py:2" in printed
    assert main(["--base", "HEAD~1", "--head", "HEAD", "--exit-zero"]) == 0


def test_a_statement_that_binds_many_names_is_told_once(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "    seen = batch * 2\n    total += seen\n    shown = print(total)\n"
    loop = f"total = 0\nfor batch in range(9):\n{body}"
    (repository / "script.py").write_text(loop)
    commit(repository)
    (repository / "script.py").write_text(loop.replace("* 2", "* 3"))
    assert main(["--base", "HEAD"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("before: script.py:3") == 1
    assert "and by the same lines" in printed
    assert all(name in printed for name in ("total", "batch", "seen", "shown"))


def test_a_regrouped_definition_is_told_with_its_place(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "total = 0\nfor batch in range(9):\n    seen = batch * 2\n    total += seen\n"
    (repository / "script.py").write_text(f"class Net:\n    size = 1\n\n\n{lines}")
    commit(repository)
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    (repository / "script.py").write_text(f"class Net:\n    size: int = 1\n\n\ndef run():\n{indented}")
    assert main(["--base", "HEAD"]) == 1
    printed = capsys.readouterr().out
    assert "regrouped  script.py:1 Net: " in printed
    assert "regrouped  script.py:5 total before: " in printed
    # Names that one statement binds are told together.
    assert printed.count("script.py:6") == 1
    assert {"batch", "seen"} <= set(printed.split())


def test_what_is_no_python_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "settings.toml").write_text("rate = 2\n")
    (repository / "link.py").symlink_to("nowhere.py")
    assert main(["--base", "HEAD"]) == 1
    printed = capsys.readouterr().out
    assert "not compared  settings.toml: not Python" in printed
    assert "not judged  link.py: a link" in printed
    (repository / "link.py").unlink()
    assert main(["--base", "HEAD"]) == 0
    assert "not compared  settings.toml: not Python" in capsys.readouterr().out


def test_links_that_are_as_they_were_are_not_told(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "images").symlink_to("/nowhere/images/")
    (repository / "link.py").symlink_to("train.py")
    commit(repository)
    assert main(["--base", "HEAD"]) == 0
    assert "a link" not in capsys.readouterr().out


def test_paths_narrow_the_review(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "settings.toml").write_text("rate = 2\n")
    assert main(["--base", "HEAD", "train.py"]) == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--base", "nothing"], "nothing: no such commit or folder"),
        ([], "Missing option '--base'"),
        (["--base", "HEAD", "--output", "/dev/full"], "/dev/full: can't be written"),
        (["--base", "HEAD", "--output", "no/such/folder.txt"], "no/such/folder.txt: can't be written"),
    ],
)
def test_unusable_input_is_one_line(
    arguments: list[str], complaint: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("codemods review: ")
    assert complaint in line


def test_outside_a_repository_two_folders_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--base", "HEAD"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
