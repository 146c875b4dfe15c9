"""`make matrix` on a small repository whose two commands end as the test says."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ci.matrix import main

pytestmark = pytest.mark.slow

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
MAKEFILE = """
set-up:
	@mkdir -p .venv/bin && printf '#!/bin/sh\\nexec {python} "$$@"\\n' > .venv/bin/python
	@chmod +x .venv/bin/python
	@{set_up}
demo: set-up
	@{demo}
test: set-up
	@.venv/bin/python -m pytest -q -p no:cacheprovider
"""
TESTS = """
import pytest
def test_one(): assert {holds}
@pytest.mark.skip(reason="needs a device")
def test_two(): pass
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "nobody")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    return folder


def commit(repository: Path, *, set_up: str = "true", demo: str = "true", holds: bool = True) -> None:
    content = {
        "Makefile": MAKEFILE.format(python=sys.executable, set_up=set_up, demo=demo),
        "test_it.py": TESTS.format(holds=holds),
        "constraints.txt": "torch==1.0\nrich==15.0.0\n",
        ".gitignore": ".venv\n",
    }
    for name, text in content.items():
        (repository / name).write_text(text)
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-qm", "all"], cwd=repository, check=True)


def run(*names: str, folder: Path) -> Result:
    return CliRunner().invoke(main, [*names, "--folder", str(folder), "--python", f"3.11={sys.executable}"])


def test_a_green_environment_is_a_row_with_versions_and_counts(repository: Path, tmp_path: Path) -> None:
    commit(repository)
    result = run("3.11-cpu", folder=tmp_path / "kept")
    assert result.exit_code == 0, result.output
    [row] = [line for line in result.output.splitlines() if line.startswith("3.11-cpu ")]
    assert row.split()[1].startswith(PYTHON)
    assert row.split()[-3:] == ["1", "0", "1"]
    assert "skipped, needs a device: 3.11-cpu 1" in result.output
    constraints = (tmp_path / "kept/3.11-cpu/clone/constraints.txt").read_text().splitlines()
    assert sorted(constraints) == ["rich==15.0.0", "torch==2.13.0+cpu"]


def test_the_next_time_runs_the_present_commit_in_what_is_there(repository: Path, tmp_path: Path) -> None:
    commit(repository)
    assert run("3.11", folder=tmp_path / "kept").exit_code == 0
    kept = tmp_path / "kept/3.11/clone/.venv/kept"
    kept.touch()
    commit(repository, holds=False)
    result = run("3.11", folder=tmp_path / "kept")
    assert result.exit_code == 1
    assert kept.exists()


def test_all_environments_run_the_commit_of_the_start(repository: Path, tmp_path: Path) -> None:
    worse = "echo 'def test_one(): assert False' > test_it.py && (git commit -qam later || true)"
    commit(repository, demo=f"cd {repository} && {worse}")
    result = run("3.11-cpu", "3.11", folder=tmp_path / "kept")
    assert result.exit_code == 0, result.output
    assert result.output.count("commit ") == 1
    assert run("3.11", folder=tmp_path / "kept").exit_code == 1


def test_a_folder_without_a_commit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("3.11", folder=tmp_path / "kept")
    assert result.exit_code == 2
    assert "no commit here: run it in a clone of the repository" in result.output


def test_a_failing_demonstration_is_not_green(repository: Path, tmp_path: Path) -> None:
    commit(repository, demo="exit 3")
    result = run("3.11", folder=tmp_path / "kept")
    assert result.exit_code == 1
    assert "exit 2 " in result.output  # make's own


def test_an_environment_that_cannot_be_made_says_where_its_log_is(repository: Path, tmp_path: Path) -> None:
    commit(repository, set_up="echo no such wheel; exit 1")
    result = run("3.11-cpu", folder=tmp_path / "kept")
    assert result.exit_code == 1
    log = tmp_path / "kept/3.11-cpu/log"
    assert f"`make set-up` failed; its output is in {log}" in result.output
    assert "PIP_EXTRA_INDEX_URL=" in result.output
    assert "no such wheel" in log.read_text()


def test_a_missing_interpreter_is_not_green(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repository)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: None)
    result = run("3.13", folder=tmp_path / "kept")
    assert result.exit_code == 1
    assert "no Python 3.13: pass --python 3.13=PATH" in result.output


def test_an_unknown_environment_is_refused_with_those_there_are(repository: Path, tmp_path: Path) -> None:
    result = run("2.7", folder=tmp_path / "kept")
    assert result.exit_code == 2
    assert "no environment 2.7; there are 3.11-cpu, 3.11, 3.12, 3.13, 3.12-gpu" in result.output


def test_an_interpreter_without_a_version_is_refused(repository: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--python", "python3"])
    assert result.exit_code == 2
    assert "--python python3: expected VERSION=PATH" in result.output
