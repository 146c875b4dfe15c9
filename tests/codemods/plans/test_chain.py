"""`--check` of a plan whose result later plans took further."""

from pathlib import Path

import pytest

from codemods.extract import main

SOURCE = """\
def twice(x):
    return 2 * x


def train(n):
    def step(x):
        return twice(x) + n

    return step(1)


print(train(3))
"""
FIRST = """\
version = 1
source = "mono.py"
rest = "train.py"
move = [{ to = "helpers.py", docstring = "Helpers.", names = ["twice"] }]
"""
SECOND = """\
version = 1
after = ["first.toml"]
source = "mono.py"
function = "train"
rest = "train.py"
move = [{ to = "steps.py", docstring = "Steps.", names = ["step"] }]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "mono.py").write_text(SOURCE)
    (tmp_path / "first.toml").write_text(FIRST)
    (tmp_path / "second.toml").write_text(SECOND)
    return tmp_path


def test_each_plan_is_clean_after_itself_and_after_those_that_build_on_it(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = str(tree / "first.toml"), str(tree / "second.toml")
    assert main(["--plan", first, "--check", "--quiet"]) == 1
    assert main(["--plan", first, "--write", "--quiet"]) == 0
    assert main(["--plan", first, "--check", "--quiet"]) == 0
    assert main(["--plan", second, "--check", "--quiet"]) == 1
    assert main(["--plan", second, "--write", "--quiet"]) == 0
    assert main(["--plan", second, "--check", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["--plan", first, "--check"]) == 0
    assert "second.toml makes, which builds on this plan" in capsys.readouterr().out


def test_an_edit_is_found_through_every_plan_of_the_chain(tree: Path) -> None:
    assert main(["--plan", str(tree / "second.toml"), "--write", "--quiet"]) == 0
    with (tree / "steps.py").open("a") as file:
        file.write("print('more')\n")
    assert main(["--plan", str(tree / "first.toml"), "--check", "--quiet"]) != 0
    assert main(["--plan", str(tree / "second.toml"), "--check", "--quiet"]) != 0


def test_a_file_beside_the_plans_that_is_none_does_no_harm(tree: Path) -> None:
    (tree / "other.toml").write_text("[tool]\nname = 1\n")
    assert main(["--plan", str(tree / "second.toml"), "--write", "--quiet"]) == 0
    assert main(["--plan", str(tree / "first.toml"), "--check", "--quiet"]) == 0
