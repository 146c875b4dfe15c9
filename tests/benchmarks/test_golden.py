"""The measurement of what observing costs runs to its end."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_cost_of_observing_is_measured_for_a_run() -> None:
    command = [sys.executable, "benchmarks/golden.py", "--pairs", "1", "vectorised"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    title, row, *_ = done.stdout.splitlines()
    assert title.split()[:3] == ["run", "bare", "s"]
    assert row.split()[0] == "vectorised"


def test_an_unknown_run_is_one_line() -> None:
    command = [sys.executable, "benchmarks/golden.py", "no_such_run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no_such_run" in done.stderr
    assert len(done.stderr.splitlines()) == 1
