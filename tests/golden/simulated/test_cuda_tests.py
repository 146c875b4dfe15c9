"""The tests that need a CUDA device, on simulated ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.simulated.child import run
from golden.simulated.result import read_result

ROOT = Path(__file__).resolve().parents[3]
FILES = (
    "tests/cuda/test_first_run.py",
    "tests/esper/simic/training/test_multi_gpu_smoke.py",
)
# Kernels in a profile, shards of two ranks: torch infers their shapes in its own mode. The command is run for
# races in test_trainer.py; the default compilation only takes longer than the one that is left in.
LEFT_OUT = "launches or same_command or (same_twice and default) or (ranks and 2)"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_they_pass_without_a_race(tmp_path: Path) -> None:
    command = ["python", "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "cuda"]
    status = run([*command, "-k", f"not ({LEFT_OUT})", *FILES], root=ROOT, out=tmp_path, devices=2)
    assert status == 0
    found = read_result(tmp_path)
    assert found is not None
    assert found.races == ()
