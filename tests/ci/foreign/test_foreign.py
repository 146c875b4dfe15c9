"""From a stranger's repository to a gate that judges: nothing is edited in between."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from ci.__main__ import main as golden_gate
from tests import trees
from tests.ci.stranger import change
from tests.trees import commit, git

pytestmark = pytest.mark.slow

EVERY = ("gpt", "lightning", "distributed")
ARGS = {"distributed": ["--args", "--data numbers.txt"]}


def load(name: str) -> dict[str, dict[str, str]]:
    """Read the files of a repository, those that git ignores, and three changes of it."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def write(name: str, root: Path) -> Path:
    foreign = load(name)
    commit(trees.write(root, {**foreign["files"], **foreign["ignored"]}))
    return root


@pytest.fixture(scope="module", params=EVERY)
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A repository after `golden-gate init`, committed by `git add -A` as init says."""
    name: str = request.param
    root = write(name, tmp_path_factory.mktemp(name) / "repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CI", "true")  # as a coding agent's sandbox has it; nothing is renewed, so it records
        patch.chdir(root)
        assert golden_gate(["init", *ARGS.get(name, [])]) == 0
    commit(root, "a gate")
    return name, root


def clone(root: Path, to: Path) -> Path:
    """What a colleague gets: only what is committed, with the data that git ignores laid beside it."""
    git(root.parent, "clone", "-q", str(root), str(to))
    if (root / "data").is_dir():
        shutil.copytree(root / "data", to / "data")
    return to


def gate(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = golden_gate(["run", "--root", str(root)])
    return code, " ".join(capsys.readouterr().out.split())


def test_init_leads_to_a_gate_that_judges_rightly(
    guarded: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What passes is a refactoring, in a clone; a behaviour and a stall fail."""
    name, origin = guarded
    foreign = load(name)
    root = clone(origin, tmp_path / "clone")
    change(root, *foreign["refactoring"].values())
    code, printed = gate(root, capsys)
    assert code == 0, printed
    assert re.search(r"golden \w+ passed .*identical", printed)
    git(root, "checkout", "-q", ".")
    change(root, *foreign["behaviour"].values())
    code, printed = gate(root, capsys)
    assert code == 1
    assert re.search(r"golden \w+ failed [\d.]+ s different: ", printed), printed
    git(root, "checkout", "-q", ".")
    change(root, *foreign["stall"].values())
    code, printed = gate(root, capsys)
    assert code == 1
    assert "host reads" in printed, printed


def test_what_nobody_can_guess_is_one_clear_instruction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write("distributed", tmp_path)
    assert golden_gate(["init", "--root", str(root)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        "golden-gate init: main_ddp.py needs --data, which nobody can guess; give it with "
        '--args "--data VALUE"'
    )
    assert not (root / "golden").exists()
