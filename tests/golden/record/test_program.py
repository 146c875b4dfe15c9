"""Programs given behind ``--``: compared, recorded and checked without a run file, and kept as one."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.golden.project import Project
from tests.trees import commit, write

# Takes a new folder for every run, reads what git ignores, and tells the time.
SCRIPT = """
import json, sys, time
from pathlib import Path
import torch

values = [float(line) for line in Path("data/values.txt").read_text().split()]
number = next(n for n in range(99) if not Path(f"runs/{n}").exists())
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
Path(f"runs/{number}").mkdir(parents=True)
with open(f"runs/{number}/metrics.jsonl", "w") as log:
    for step in range(int(sys.argv[1])):
        loss = model(torch.tensor(values)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.write(json.dumps({"step": step, "began": time.time_ns(), "norm": 2.0}) + "\\n")
"""
FAILS = "import sys; open(sys.argv[1])\n"
COMMAND = ("python", "train.py", "2")


@pytest.fixture
def repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A repository without run files, in which an earlier run left its folder."""
    root = tmp_path / "repository"
    root.mkdir()
    project = Project(root, capsys)
    (root / "golden" / "runs" / "train.toml").unlink()
    project.script(SCRIPT)
    commit(write(root, {".gitignore": "data\n", "data/values.txt": "1 2\n"}))
    monkeypatch.chdir(root)
    write(root, {"runs/0/metrics.jsonl": ""})
    return project


def test_a_command_is_compared_with_its_base_and_kept_as_a_run_file(repository: Project) -> None:
    ab = ("ab", "--base", "HEAD", "--data", "data", "--", *COMMAND)
    same = repository.golden(*ab)
    assert same.code == 0, same
    assert same.out.splitlines()[0] == "identical: base (HEAD) and head (working tree)"
    assert "not compared, differs between two runs of the base: field began of runs/1" in same.out
    assert same.out.splitlines()[-1] == (
        "keep it as a run file: golden init NAME --data data -- python train.py 2"
    )
    # Every run had a tree of its own.
    assert sorted(path.name for path in (repository.root / "runs").iterdir()) == ["0"]

    repository.script(SCRIPT.replace('"norm": 2.0', '"norm": 3.0'))
    changed = repository.golden(*ab)
    assert changed.code == 1
    assert "first divergence: file runs/1/metrics.jsonl, line 1: field norm: 2.0 -> 3.0" in changed.out

    kept = repository.golden("init", "metrics", "--data", "data", "--", *COMMAND)
    assert kept.code == 0
    path = repository.root / "golden" / "runs" / "metrics.toml"
    assert _keys(tomllib.loads(path.read_text())) <= 9
    by_file = repository.golden("ab", "metrics", "--base", "HEAD")
    assert by_file.code == 1
    assert by_file.out.splitlines()[1] == changed.out.splitlines()[1]

    again = repository.golden("init", "metrics", "--", *COMMAND)
    assert (again.code, "exists already" in again.err) == (2, True)


@pytest.mark.slow
def test_a_command_is_recorded_and_checked_alone(repository: Project) -> None:
    for name in ("one", "two"):
        result = repository.golden("record", "-o", name, "--data", "data", "--", *COMMAND)
        assert result.code == 0, result
        assert "train: 0 events, 2 optimizer steps" in result.out
    compared = repository.golden("diff", "one", "two")
    # One run alone does not tell what is unstable.
    assert (compared.code, "field began" in compared.out) == (1, True)
    doctor = repository.golden("doctor", "--data", "data", "--", *COMMAND)
    assert doctor.code == 0
    assert doctor.out.splitlines()[-1].startswith("keep it as a run file: golden init NAME --data data -- ")


def test_a_file_that_git_ignores_is_missed_with_what_to_do(repository: Project) -> None:
    repository.script(FAILS)
    result = repository.golden("doctor", "--", "python", "train.py", "data/values.txt")
    assert result.code == 3
    assert "a copy without what git ignores (data): name what it reads with --data PATH" in result.err
    # What looks for files and finds none fails otherwise.
    repository.script("from pathlib import Path\nprint(max(Path().glob('data/*')))\n")
    result = repository.golden("doctor", "--", "python", "train.py")
    assert "ValueError" in result.err
    assert "a copy without what git ignores (data): name what it reads with --data PATH" in result.err


def test_a_program_that_asks_git_for_its_commit_is_told_how(repository: Project) -> None:
    repository.script("import subprocess\nsubprocess.check_output(['git', 'rev-parse', 'HEAD'])\n" + SCRIPT)
    missed = repository.golden("doctor", "--data", "data", "--", *COMMAND)
    assert (missed.code, "name that as GIT_DIR in [environment] of its run file" in missed.err) == (3, True)
    repository.golden("init", "commit", "--data", "data", "--", *COMMAND)
    path = repository.root / "golden" / "runs" / "commit.toml"
    path.write_text(f"{path.read_text()}\n[environment]\nGIT_DIR = '{repository.root}/.git'\n")
    result = repository.golden("doctor", "commit")
    assert result.code == 0, result


def test_a_copy_of_its_source_is_compared_by_which_file_it_is_of(repository: Project) -> None:
    copied = 'import shutil; shutil.copy("{}", f"runs/{{number}}/{}")\n'
    script = SCRIPT + copied.format("train.py", "train.py.backup")
    repository.script(script)
    commit(write(repository.root, {"other/train.py": "x = 1\n"}))
    repository.script(script + "# more\n")
    ab = ("ab", "--base", "HEAD", "--data", "data", "--", *COMMAND)
    same = repository.golden(*ab)
    assert same.code == 0
    assert re.search(r"text of runs/.*train.py.backup, a copy of train.py", same.out), same.out
    repository.script(script.replace('copy("train.py"', 'copy("other/train.py"'))
    other = repository.golden(*ab)
    assert (other.code, 'field copy of: "train.py" -> "other/train.py"' in other.out) == (1, True), other


def test_an_output_that_a_file_of_the_repository_happens_to_equal_is_compared(repository: Project) -> None:
    script = SCRIPT + 'Path(f"runs/{number}/result.txt").write_text("K = 1\\n")\n'
    repository.script(script)
    commit(write(repository.root, {"constants.py": "K = 1\n"}))
    repository.script(script.replace("K = 1", "K = 2"))
    write(repository.root, {"constants.py": "K = 2\n"})
    result = repository.golden("ab", "--base", "HEAD", "--data", "data", "--", *COMMAND)
    assert (result.code, "result.txt" in result.out) == (1, True), result


def test_data_outside_of_the_repository_is_beside_each_copy(repository: Project) -> None:
    write(repository.root.parent, {"data/values.txt": "1 2\n"})
    repository.script(SCRIPT.replace('"data/values.txt"', '"../data/values.txt"'))
    commit(repository.root)
    ab = ("ab", "--base", "HEAD", "--data", "../data", "--", *COMMAND)
    assert repository.golden(*ab).code == 0
    assert (repository.root.parent / "data").is_dir()
    missed = repository.golden("ab", "--base", "HEAD", "--", *COMMAND)
    assert (missed.code, "keep it as a run file" in missed.out) == (3, False)
    assert "a copy without what git ignores (data): name what it reads with --data PATH" in missed.err
    far = "../" * 5
    refused = repository.golden("doctor", "--data", far, "--", *COMMAND)
    assert f"{far.rstrip('/')} is too far up: write {{data}} where the command names it" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ab", "--", "python", "train.py"], "say which version the command is compared with: --base REF"),
        (["ab", "train", "--base", "HEAD", "--", "python", "train.py"], "either the name of a run (train)"),
        (["ab", "--base", "HEAD", "--"], "no command after --"),
        (["ab", "--base", "HEAD", "--shard", "1/2", "--", "python"], "--shard is for runs"),
        (["doctor"], "name a run, or give a command: golden doctor -- python train.py"),
        (["record"], "name a run, or give a command: golden record -o DIR -- python train.py"),
        (["record", "--", "python", "train.py"], "say where the trace goes with -o DIR"),
        (["record", "--update", "--", "python", "train.py"], "a command has no golden"),
        (["init", "one"], "give the command after --"),
        (["init", "../one", "--", "python", "train.py"], "../one is no name of a run"),
        (["doctor", "--data", "/usr", "--", "python", "train.py"], "write {data} where the command names it"),
        (["doctor", "--", "python", "train.py", "{data}"], "the command has {data}"),
        (["doctor", "--", "python", "none.py"], "no script none.py in the repository; check"),
    ],
)
def test_what_a_command_lacks_is_said_in_one_line(
    repository: Project, arguments: list[str], message: str
) -> None:
    result = repository.golden(*arguments)
    assert result.code == 2
    assert message in result.err
    assert len([line for line in result.err.splitlines() if line.startswith("golden: ")]) == 1


def test_braces_of_other_programs_stay_as_they_are(repository: Project) -> None:
    repository.script("import sys; sys.exit(sys.argv[1:] != ['{\"lr\": 1}', '{lr}'])\n")
    result = repository.golden("doctor", "--", "python", "train.py", '{"lr": 1}', "{lr}")
    assert "no optimizer step was seen" in result.err


def test_a_command_that_replaces_the_module_path_is_told_where_to_set_it(repository: Project) -> None:
    repository.script("import torch\n")
    result = repository.golden("doctor", "--", "env", "PYTHONPATH=.", sys.executable, "train.py", "1")
    assert result.code == 4
    assert "if the command sets PYTHONPATH, set that before golden instead" in result.err


def test_an_import_that_works_only_from_within_src_fails_as_outside(repository: Project) -> None:
    fit = SCRIPT.replace("data/values.txt", "values.txt").replace("2.0", "RATE")
    repository.script("import src.train\n")
    files = {"src/train.py": "from src.rates import RATE\n" + fit, "src/rates.py": "RATE = 2.0\n"}
    commit(write(repository.root, {**files, "values.txt": "1 2\n"}))
    ab = ("ab", "--base", "HEAD", "--", *COMMAND)
    assert repository.golden(*ab).code == 0
    write(repository.root, {"src/train.py": "from rates import RATE\n" + fit})
    missing = repository.golden(*ab)
    assert (missing.code, "No module named 'rates'" in missing.err) == (3, True)


def _keys(table: dict[str, object]) -> int:
    return sum(_keys(value) if isinstance(value, dict) else 1 for value in table.values())
