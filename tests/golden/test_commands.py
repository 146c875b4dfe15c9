"""The commands end to end, on scripts that are not ours."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from golden.trace.trace import load_trace
from tests.golden.project import RUN, Project
from tests.trees import commit


def test_list_names_every_run_and_its_budget(project: Project) -> None:
    result = project.golden("list")
    assert result.code == 0
    assert "train" in result.out
    assert "1 runs, 5 s on two CPU cores" in result.out


@pytest.mark.slow
def test_ab_between_git_versions(project: Project) -> None:
    commit(project.root)
    common = ("ab", "train")

    project.edit("AFTER EVENT", "pass")
    assert project.golden(*common, "--base", "HEAD").code == 0

    project.edit("BEFORE STEP", "host[2].bias.grad.mul_(2) if step == 3 else None")
    result = project.golden(*common, "--base", "HEAD")
    assert result.code == 1
    assert "step 3 of env 0, Sequential (step 9 overall, SGD): gradient 2.bias" in result.out

    missing = project.golden(*common, "--base", "no-such-ref")
    assert missing.code == 2
    assert "git ref no-such-ref does not exist" in missing.err
    trees = subprocess.run(
        ["git", "worktree", "list"], cwd=project.root, capture_output=True, text=True, check=True
    )
    assert len(trees.stdout.splitlines()) == 1


@pytest.mark.slow
def test_ab_with_a_base_that_differs_from_itself(project: Project) -> None:
    project.edit("BEFORE STEP", "host[0].weight.grad += time.time() % 1")
    project.run_file(RUN + "\n[variants.base]\nargs = {}\n")
    result = project.golden("ab", "train")
    assert result.code == 4
    assert "differs from itself" in result.out


@pytest.mark.slow
def test_ab_of_two_variants_of_one_run(project: Project) -> None:
    project.script((project.root / "train.py").read_text().replace("lr=0.1", "lr=0.2"), "other.py")
    base = '\n[variants.base]\ncommand = ["python", "{}", "{{out}}"]\n'
    project.run_file(RUN + base.format("other.py"))
    result = project.golden("ab", "train")
    assert result.code == 1
    assert "setting group 0 lr: 0.2 -> 0.1" in result.out

    project.run_file(RUN)
    result = project.golden("ab", "train")
    assert result.code == 2
    assert "has no [variants.base] table" in result.err


@pytest.mark.slow
def test_different_fingerprints_are_not_a_difference(project: Project) -> None:
    left = project.record("left")
    project.edit("BEFORE STEP", "host[0].weight.grad.mul_(2)")
    project.run_file("profile = 'portable'\n" + RUN)
    result = project.golden("diff", left, project.record("right"))
    assert result.code == 4
    assert "recorded under different fingerprints" in result.out
    assert "profile: exact and portable" in result.out


@pytest.mark.slow
def test_program_with_a_package_called_golden(project: Project) -> None:
    """The observer must not take the name from the program, nor the program's from the observer."""
    package = project.root / "golden" / "trainer"
    package.mkdir()
    package.parent.joinpath("__init__.py").touch()
    package.joinpath("train.py").write_text((project.root / "train.py").read_text())
    run = RUN.replace('"train.py"', '"-m", "golden.trainer.train"')
    project.run_file(run)
    trace = load_trace(project.record("as-module"))
    assert len(trace.processes[0].steps) == 18


def test_a_relative_folder_is_that_of_the_caller(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.plain()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = project.golden("record", "train", "--root", project.root, "-o", "traces")
    assert result.code == 0, result
    assert load_trace(elsewhere / "traces" / "train").about.counts == {"step": 3}
