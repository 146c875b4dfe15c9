"""What the smallest invocation must report, whatever it learns and whatever listens."""

from collections import Counter
from pathlib import Path

import pytest

from esper.leyline.telemetry import TelemetryEvent
from esper.nissa import TelemetryHub, get_hub
from esper.scripts.train import main
from esper.simic.training.vectorized import train_ppo_vectorized

MINIMAL = ["ppo", "--task", "cifar_minimal", "--rounds", "2", "--envs", "2", "--episode-length", "3"]
MINIMAL += ["--train-images", "32", "--val-images", "16", "--telemetry-level", "minimal", "--no-progress"]

BASELINE = {
    "RUN_STARTED": 1,
    "ROUND_STARTED": 2,
    "EPISODE_COMPLETED": 4,
    "PPO_UPDATE_COMPLETED": 2,
    "BATCH_COMPLETED": 2,
    "THROUGHPUT": 2,
    "RUN_COMPLETED": 1,
}


class Counting:
    """An output that counts."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def emit(self, event: TelemetryEvent) -> None:
        self.counts[event.event_type.value] += 1

    def close(self) -> None:
        """Nothing to close."""


def counted(*argv: str, outputs: int) -> list[Counter[str]]:
    """What the hub and each of some outputs count during a run."""
    hub: TelemetryHub = get_hub()
    before = hub.counts.copy()
    listening = [Counting() for _ in range(outputs)]
    with hub.attached(*listening):
        assert main([*MINIMAL, *argv], train=train_ppo_vectorized) == 0
    return [hub.counts - before, *(output.counts for output in listening)]


@pytest.mark.parametrize("outputs", [0, 3])
def test_the_counts_of_the_smallest_invocation(tmp_path: Path, outputs: int) -> None:
    [hub, *others] = counted("--telemetry-dir", str(tmp_path / "run"), outputs=outputs)
    assert {name: hub[name] for name in BASELINE} == BASELINE
    assert all(counts == hub for counts in others)
    assert len((tmp_path / "run" / "events.jsonl").read_text().splitlines()) == sum(hub.values())
