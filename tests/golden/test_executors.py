"""Runs as jobs of a scheduler, through submitit's local executor: results, faults, refusals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from submitit.core.core import Job

from golden.__main__ import main
from golden.executors.jobs import limit_minutes
from tests.golden.project import PLAIN_RUN, Project
from tests.golden.test_commands import git

pytestmark = pytest.mark.slow

PLAIN = """
import json, os, signal, sys, time
log = open(sys.argv[1] + "/events.jsonl", "w")
golden = os.getppid()
USR2 = signal.SIGUSR2
job = int(open(f"/proc/{golden}/stat").read().rpartition(")")[2].split()[1])
if os.path.exists("faults"):
    FAULT
for step in range(3):
    log.write(json.dumps({"type": "step", "step": step}) + "\\n")
"""
FAULTS = {
    "changed": "log.write(json.dumps({'type': 'step', 'step': -1}) + '\\n')",
    "killed": "os.kill(golden, signal.SIGKILL)",
    "lost": "os.kill(job, signal.SIGKILL)",
    "preempted": "'once' in os.listdir() or (open('once', 'w'), os.kill(job, USR2), time.sleep(60))",
    "same": "assert not [name for name in os.environ if name.startswith('SUBMITIT_')]",
}


@pytest.fixture
def suite(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A repository with a run for each fault, which they have from when the file `faults` is there."""
    monkeypatch.setenv("CI", "")
    # How long submitit waits for a slow file system.
    monkeypatch.setattr(Job, "_results_timeout_s", 0)
    root = project.root
    (root / "golden" / "runs" / "train.toml").unlink()
    for name, fault in FAULTS.items():
        project.script(PLAIN.replace("FAULT", fault), f"{name}.py")
        project.run_file(PLAIN_RUN.replace("train.py", f"{name}.py"), name)
    (root / ".gitignore").write_text("__pycache__/\nfaults\nonce\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    return project


def test_each_run_is_a_job_and_lost_ones_are_named(suite: Project, tmp_path: Path) -> None:
    assert suite.golden("record", *FAULTS, "--update", "--root", suite.root).code == 0
    (suite.root / "faults").touch()
    out = tmp_path / "out"
    result = suite.golden("verify", "--root", suite.root, "--executor", "local", "-n", "3", "-o", out)
    assert result.code == 3, result
    told = [line.split(" (3 events")[0] for line in result.out.splitlines() if ": " in line]
    assert told[0].startswith("changed: different")
    assert "golden: killed: its job ended with status -9, without a result" in told
    (lost,) = (line for line in told if line.startswith("golden: lost: "))
    assert " was lost: it ended without a result" in lost
    assert told[-3:-1] == ["preempted: identical", "same: identical"]
    assert "5 runs" in told[-1]
    page = tmp_path / "all.md"
    merged = suite.golden("report", "--merge", out, "--markdown", page)
    assert (merged.code, "was lost" in page.read_text()) == (3, True)
    jobs = [out / "jobs" / name for name in FAULTS]
    assert suite.golden("report", "--merge", *jobs, "--markdown", page).code == 3
    again = suite.golden("verify", "same", "--root", suite.root, "--executor", "local", "-o", out)
    assert (again.code, "exists already; name another folder with -o" in again.err) == (2, True)


def test_over_its_time(suite: Project, tmp_path: Path) -> None:
    # Of so short a limit submitit takes the signal for its end.
    (suite.root / "faults").touch()
    suite.script(PLAIN.replace("FAULT", "os.kill(job, USR2); time.sleep(60)"), "same.py")
    options = ["--executor", "local", "-o", tmp_path / "out", "--parameter", "timeout_min=2"]
    result = suite.golden("verify", "same", "--root", suite.root, *options)
    assert result.code == 3
    assert " ran over its time limit; its log is " in result.out


def test_ab_with_its_evidence(suite: Project, tmp_path: Path) -> None:
    text = (suite.root / "same.py").read_text()
    suite.script(text.replace("range(3)", "range(2)"), "same.py")
    evidence = tmp_path / "evidence.json"
    options = ["--base", "HEAD", "--root", suite.root, "--executor", "local"]
    result = suite.golden("ab", "same", *options, "-o", tmp_path / "1", "--evidence", evidence)
    assert result.code == 1, result
    assert "event 2 (step) is missing in head" in result.out
    (run,) = json.loads(evidence.read_text())["runs"]
    assert (run["known"], run["after"]["ran"]) == (True, {"same.py": [9]})
    # A job that changes the tree for which the next one was queued.
    (suite.root / "faults").touch()
    suite.script(PLAIN.replace("FAULT", "open('same.py', 'a').write('#')"), "changed.py")
    result = suite.golden("ab", "changed", "lost", *options, "-o", tmp_path / "2")
    assert result.code == 3
    assert f"{suite.root} was changed while the job waited: run it again" in result.out


def test_what_can_not_be_a_job(suite: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    refusals = {
        "needs -o DIR: a folder that all nodes see": ["--executor", "local"],
        "--parameter is for jobs": ["--parameter", "mem_gb=1"],
        "--parameter fast: say KEY=VALUE": ["--executor", "local", "-o", out, "--parameter", "fast"],
        "--executor local takes timeout_min": [
            "--executor",
            "local",
            "-o",
            out,
            "--parameter",
            "slurm_qos=a",
        ],
        "no Slurm here: sacct is not on PATH; try --executor local": ["--executor", "slurm", "-o", out],
    }
    monkeypatch.setenv("PATH", str(tmp_path))
    for message, options in refusals.items():
        result = suite.golden("verify", "same", "--root", suite.root, *options)
        assert (result.code, message in result.err) == (2, True), (message, result)
    fake = tmp_path / "sacct"
    fake.write_text("#!/bin/sh\necho Slurm accounting storage is disabled >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    result = suite.golden("verify", "same", "--root", suite.root, "--executor", "slurm", "-o", out)
    assert "Slurm keeps no accounts here, so a lost job could not be told: Slurm acc" in result.err


def test_without_submitit(
    suite: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    options = ["--root", str(suite.root), "--executor", "local", "-o", str(tmp_path / "out")]
    assert main(["verify", "same", *options]) == 2
    said = "golden: needs submitit, which is not installed: pip install 'esper-harness[cluster]'\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 11), (600, 20), (7200, 150)])
def test_a_limit_leaves_room_to_tell_a_preemption_from_the_end(seconds: float, minutes: int) -> None:
    limit = limit_minutes(seconds)
    assert limit == minutes
    # What submitit takes for the end of the time.
    assert min(limit * 60 * 0.8, limit * 60 - 600) >= seconds
