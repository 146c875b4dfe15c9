"""The single-file trainer, what the plans make of it, and the trainer as it is now: the same bits."""

from pathlib import Path

import pytest

from ci.demo import derive
from golden.compare import Identical, compare
from golden.record import load_run, record_run
from golden.trace.trace import Trace

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PLAN = Path("codemods/plans/03_engine.toml")
RUN = """\
description = "Hosts in which seeds grow, as briefly as that can be"
command = ["python", "-m", "esper.scripts.train", "ppo", "--no-progress", "--quiet"]
seed = 4
budget = 30.0
timeout = 300

[args]
task = "cifar_minimal"
envs = 2
rounds = 1
episode_length = 5
train_images = 40
val_images = 40
seed = "{seed}"
telemetry_dir = "{out}"

[events]
files = "events.jsonl"
type = "event_type"
unstable = ["event_id", "timestamp", "duration_s", "phase_s", "env_steps_per_s", "images_per_s"]

[env]
field = "env"
module = "MorphogeneticModel"
count = 2
skip = 1

[variants.base]
command = ["python", "-m", "examples.monolith.train", "ppo", "--no-progress", "--quiet"]
"""


def test_the_monolith_the_derived_trainer_and_the_present_one_are_the_same(tmp_path: Path) -> None:
    derived = tmp_path / "derived"
    derive(ROOT, PLAN, derived)
    (tmp_path / "run.toml").write_text(RUN)
    run = load_run(tmp_path / "run.toml")

    def record(name: str, root: Path) -> Trace:
        chosen = run.variant("base") if name == "monolith" else run
        return record_run(chosen, root=root, out=tmp_path / name, label=name)

    monolith = record("monolith", ROOT)
    found = compare(monolith, record("derived-run", derived))
    assert isinstance(found, Identical), found
    found = compare(monolith, record("present", ROOT))
    assert isinstance(found, Identical), found
    assert {"SEED_GERMINATED", "PPO_UPDATE_COMPLETED"} <= {event.kind for event in monolith.events}
