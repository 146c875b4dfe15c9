"""The trainer on a simulated GPU: no race, but one for each wait that is taken out and orders accesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.simulated.child import run
from golden.simulated.result import read_result

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import sys
import torch
from esper.scripts.train import main

tensor = type(torch.ones(1, device="cuda"))
where, _, name = sys.argv[1].rpartition(".")
if where:
    owner = tensor if where == "Tensor" else getattr(torch.cuda, where)
    setattr(owner, name, lambda *_, **__: None)
sys.exit(main(sys.argv[2:]))
"""
RUN = (
    *("ppo", "--no-progress", "--quiet", "--task", "cifar_baseline", "--envs", "2", "--rounds", "1"),
    *("--episode-length", "3", "--train-images", "384", "--val-images", "256", "--device", "cuda"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "line"),
    [
        ("nothing", ""),
        # It only makes the times of events readable.
        ("Event.synchronize", ""),
        ("Stream.wait_stream", "src/esper/tolaria/data.py"),
        ("Stream.synchronize", "src/esper/tolaria/models.py"),
        ("Tensor.record_stream", "src/esper/tolaria/models.py"),
    ],
)
def test_each_wait_that_orders_accesses_is_a_race_without_it(without: str, line: str, tmp_path: Path) -> None:
    script = tmp_path / "without.py"
    script.write_text(SCRIPT)
    status = run(["python", str(script), without, *RUN], root=ROOT, out=tmp_path / "out", devices=1)
    assert status == 0
    found = read_result(tmp_path / "out")
    assert found is not None
    assert bool(found.races) == bool(line)
    assert all(race.place and race.other for race in found.races)
    assert not line or any(race.other.startswith(line) for race in found.races)
