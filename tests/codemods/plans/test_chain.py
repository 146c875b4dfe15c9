"""Plans that build on one another: whether the tree is what they make, and what they make afresh."""

from pathlib import Path

import pytest

from codemods.api import PlanError, Report, run_plan
from codemods.extract import main
from tests.trees import git, read, write

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
    files = {"pyproject.toml": "", "mono.py": SOURCE, "first.toml": FIRST, "second.toml": SECOND}
    return write(tmp_path, files)


def test_each_plan_is_clean_after_itself(tree: Path) -> None:
    first, second = str(tree / "first.toml"), str(tree / "second.toml")
    assert main(["--plan", first, "--check", "--quiet"]) == 1
    assert main(["--plan", first, "--write", "--quiet"]) == 0
    assert main(["--plan", first, "--check", "--quiet"]) == 0
    assert main(["--plan", second, "--check", "--quiet"]) == 1
    assert main(["--plan", second, "--write", "--quiet"]) == 0
    assert main(["--plan", second, "--check", "--quiet"]) == 0


def test_an_edit_is_found_through_every_plan_of_the_chain(tree: Path) -> None:
    assert main(["--plan", str(tree / "second.toml"), "--write", "--quiet"]) == 0
    with (tree / "steps.py").open("a") as file:
        file.write("print('more')\n")
    assert main(["--plan", str(tree / "first.toml"), "--check", "--quiet"]) != 0
    assert main(["--plan", str(tree / "second.toml"), "--check", "--quiet"]) != 0


def test_afresh_it_is_what_the_plans_make_whatever_the_tree_has(tree: Path) -> None:
    git(write(tree, {".gitignore": "*.bin\n", "large.bin": "ignored"}), "init", "-q")
    second = tree / "second.toml"
    assert main(["--plan", str(second), "--write", "--quiet"]) == 0
    made = {name: data for name, data in read(tree).items() if not name.startswith((".git/", "large"))}
    (tree / "steps.py").write_text("from helpers import gone\n")
    (tree / "helpers.py").unlink()
    (tree / "train.py").write_text("def train(n):\n    return 7\n")
    by_hand = read(tree)
    report = run_plan(second, None, afresh=True)
    assert all(change.before is None for change in report.files), "not what the tree has there"
    assert outcome(report, tree).items() <= made.items()
    assert read(tree) == by_hand


def outcome(report: Report, tree: Path) -> dict[str, bytes]:
    """What a plan makes, by name."""
    return {str(path.relative_to(tree)): data for path, data in report.in_order().items()}


def test_a_source_that_is_not_frozen_is_not_carried_out_afresh(tree: Path) -> None:
    plan = tree / "first.toml"
    plan.write_text(FIRST.replace('rest = "train.py"\n', ""))
    with pytest.raises(PlanError, match=r"takes mono\.py apart in place"):
        run_plan(plan, None, afresh=True)
    plan.write_text(FIRST.replace("version = 1", 'version = 1\nafter = ["second.toml"]'))
    with pytest.raises(PlanError, match="comes after this plan itself"):
        run_plan(plan, None, afresh=True)


def test_afresh_too_what_is_refused_is_told(tree: Path) -> None:
    (tree / "mono.py").write_text(SOURCE.replace("return step(1)", "return step(1) or step"))
    assert [row.name for row in run_plan(tree / "second.toml", None, afresh=True).refused] == ["step"]


def test_a_plan_whose_predecessor_is_refused_says_what_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "mono.py").write_text(SOURCE.replace("return step(1)", "return step(1) or step"))
    third = SECOND.replace("first.toml", "second.toml").replace('"steps.py"', '"more.py"')
    (tree / "third.toml").write_text(third)
    before = read(tree)
    assert main(["--plan", str(tree / "third.toml"), "--write"]) == 1
    assert "value-use: train.step: " in capsys.readouterr().out
    assert read(tree) == before


def test_a_chain_that_is_written_at_once_is_clean_and_the_same_afresh(tree: Path) -> None:
    """What one plan's rest imports from what the next one makes stands where it stands on a second run."""
    second = SECOND.replace('"mono.py"', '"train.py"').replace('rest = "train.py"\n', "")
    (tree / "second.toml").write_text(second + '[loop]\nclass = "Loop"\nto = "loop.py"\n')
    loop = "    total = 0\n    for x in range(n):\n        total += step(x)\n    return total\n"
    (tree / "mono.py").write_text("import math\n" + SOURCE.replace("    return step(1)\n", loop))
    plan = str(tree / "second.toml")
    assert main(["--plan", plan, "--write", "--quiet"]) == 0
    assert main(["--plan", plan, "--check", "--quiet"]) == 0
    made = outcome(run_plan(Path(plan), None, afresh=True), tree)
    assert made.items() <= read(tree).items()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('to = "helpers.py"', 'to = "class.py"', "'class' is no name"),
        ('to = "helpers.py"', 'to = "a|b.py"', "'a|b' is no name"),
        ('to = "helpers.py"', 'to = "folder.py"', "folder.py: is no Python file; name one that ends in .py"),
        ('rest = "train.py"', 'rest = "other.py"', "other.py exists already and holds USER"),
        ("version = 1", 'version = 1\nroot = ".."', "root: must be a relative path, without '..'"),
        ("version = 1", 'version = 1\nroot = "/tmp"', "root: must be a relative path, without '..'"),
        (
            "version = 1",
            'version = 1\nafter = ["a\\u0000"]',
            "after.0: must be a relative path, without '..'",
        ),
        ("version = 1", 'version = 1\nafter = ["round.toml"]', "round.toml"),
    ],
)
def test_what_a_plan_can_not_mean_is_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str
) -> None:
    (tree / "folder.py").mkdir()
    (tree / "other.py").write_text("USER = 1\n")
    (tree / "round.toml").symlink_to("round.toml")
    (tree / "first.toml").write_text(FIRST.replace(old, new))
    before = read(tree)
    assert main(["--plan", str(tree / "first.toml"), "--write"]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert read(tree) == before


def test_a_plan_that_was_carried_out_in_place_says_so(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "first.toml").write_text(FIRST.replace('rest = "train.py"\n', ""))
    assert main(["--plan", str(tree / "first.toml"), "--write", "--quiet"]) == 0
    assert main(["--plan", str(tree / "first.toml"), "--check"]) == 2
    err = capsys.readouterr().err
    assert "; was this plan carried out?" in err


def test_a_report_takes_the_place_of_nothing_that_it_is_about(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about, source = "is one of the files that the report is about", "is Python source"
    (tree / "script").write_text(SOURCE)
    (tree / "link.txt").symlink_to("mono.py")
    plan = ["--plan", str(tree / "first.toml"), "--write"]
    refused = (("mono.py", source), ("helpers.py", source), ("link.txt", source), ("no/x", "no such folder"))
    for arguments, output, why in (
        *((plan, output, why) for output, why in refused),
        (plan, "first.toml", about),
        ([str(tree / "script")], "script", about),
    ):
        assert main([*arguments, "--output", str(tree / "." / output)]) == 2
        assert why in capsys.readouterr().err
    assert (tree / "mono.py").read_text() == (tree / "script").read_text() == SOURCE
