"""The runs and guard tests of the case study, before and after the plan is carried out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.real.commands import run
from benchmarks.real.corpus import Program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "case-study.md").read_text(encoding="utf-8")
# A row of the page's table: run, events, optimizer steps, tensors, host reads, verdict.
ROWS = re.findall(
    r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| [\d,]* \| identical \|$", PAGE, re.MULTILINE
)
GUARDS = (
    "tests/test_import_isolation.py",
    "tests/meta/test_factored_action_contracts.py",
    "tests/simic/test_vectorized.py",
    "tests/simic/training/test_entropy_annealing.py",
    "tests/simic/rewards/escrow/test_escrow_wiring.py",
    "tests/simic/test_reward_normalizer_checkpoint.py",
    "tests/simic/test_gpu_preload_batch_size.py",
    "tests/scripts/test_train.py",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("case-study"),
    pytest.mark.skipif(
        os.environ.get("REAL") != "all", reason="takes half an hour, and duckdb and psutil: REAL=all"
    ),
]


@pytest.fixture(scope="module")
def before(programs: dict[str, Program], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with its images and run files, as one commit."""
    return _prepared(programs, tmp_path_factory.mktemp("before"))


@pytest.fixture(scope="module")
def after(programs: dict[str, Program], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, whose working tree is what the plan makes of it."""
    root = _prepared(programs, tmp_path_factory.mktemp("after"))
    answer = run("extract", ["--plan", _plan(programs), "--root", root, "--write"])
    assert answer.status == 0, answer.error
    return root


def _plan(programs: dict[str, Program]) -> Path:
    return next(program.plan for program in programs.values() if program.plan is not None)


def _prepared(programs: dict[str, Program], folder: Path) -> Path:
    script = _plan(programs).with_name("prepare.py")
    done = subprocess.run(
        [sys.executable, script, folder / "new"], capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip().splitlines()[-1])


def _compared(root: Path, name: str) -> str:
    """What ``golden ab`` says of the last commit and the working tree."""
    command = [sys.executable, "-m", "golden", "ab", "--root", root, "--base", "HEAD", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", [row[0] for row in ROWS])
def test_run_is_identical_with_itself(before: Path, name: str) -> None:
    assert "identical" in _compared(before, name)


@pytest.mark.parametrize(("name", "events", "steps", "tensors"), ROWS)
def test_run_is_identical_after_the_plan(
    after: Path, name: str, events: str, steps: str, tensors: str
) -> None:
    said = _compared(after, name)
    assert "identical" in said
    assert f"{events} events, {steps} optimizer steps" in said


@pytest.mark.parametrize("side", ["before", "after"])
def test_guard_tests_pass(side: str, request: pytest.FixtureRequest) -> None:
    root: Path = request.getfixturevalue(side)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *GUARDS]
    shim = _plan(request.getfixturevalue("programs")).with_name("shim")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", str(shim)])}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert "117 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-2000:]
    assert done.returncode == 0


def test_page_has_a_row_for_each_of_five_runs() -> None:
    assert [row[0] for row in ROWS] == ["minimal", "multi", "panic", "escrow", "lm"]
