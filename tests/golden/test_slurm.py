"""Runs as jobs of a real Slurm of one node: results, pre-emption, loss, the end of the time."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.golden.project import PLAIN_RUN, Project
from tests.golden.slurm import missing, one_node
from tests.golden.test_commands import git

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
    pytest.mark.skipif(os.environ.get("RANKS") != "all", reason="takes three minutes: RANKS=all"),
]

# Where the folder `slow` is, it waits there for the end of its first attempt.
PROGRAM = """
import json, os, sys, time
assert not [name for name in os.environ if name.startswith("SLURM_")]
log = open(sys.argv[1] + "/events.jsonl", "w")
if os.path.isdir("slow") and not os.path.exists("slow/NAME"):
    open("slow/NAME", "w")
    time.sleep(300)
log.write(json.dumps({"type": "step", "step": 0}) + "\\n")
"""
NAMES = ("cancelled", "preempted")


def test_jobs_of_slurm(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "")
    root, slow = project.root, project.root / "slow"
    (root / "golden" / "runs" / "train.toml").unlink()
    for name in NAMES:
        project.script(PROGRAM.replace("NAME", name), f"{name}.py")
        project.run_file(PLAIN_RUN.replace("train.py", f"{name}.py"), name)
    assert project.golden("record", *NAMES, "--update", "--root", root).code == 0
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    slow.mkdir()
    options = ["--root", root, "--executor", "slurm", "--parameter", "slurm_partition=low"]
    with one_node(tmp_path / "slurm") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

        def disturb() -> None:
            while len(list(slow.iterdir())) < len(NAMES):
                time.sleep(0.2)
            subprocess.run(["scancel", "--name", "golden-cancelled"], check=True)
            more_urgent = ["sbatch", "-p", "high", "-c", "2", "-o", "/dev/null", "--wrap", "true"]
            subprocess.run(more_urgent, check=True, capture_output=True)

        disturbing = threading.Thread(target=disturb)
        disturbing.start()
        one_core = ["--parameter", "cpus_per_task=1"]
        result = project.golden("verify", *options, *one_core, "-o", tmp_path / "out")
        disturbing.join()
        assert result.code == 3, result
        assert " was lost: it ended without a result (cancelled" in result.out
        assert "preempted: identical (1 event" in result.out
        (slow / "cancelled").unlink()
        short = ["--parameter", "timeout_min=1", "-o", tmp_path / "short"]
        result = project.golden("verify", "cancelled", *options, *short)
        assert result.code == 3
        assert " ran over its time limit; its log is " in result.out
