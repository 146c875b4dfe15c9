"""The outer loop of training: rounds of fresh hosts, each followed by one update of the policy."""

from __future__ import annotations

from dataclasses import dataclass

from esper.leyline import EngineProtocol
from esper.simic.client import SimicClient
from esper.simic.training.report import RoundReport
from esper.simic.training.run_state import CheckpointWriter


@dataclass(frozen=True, slots=True)
class VectorizedPPOTrainer:
    """An engine that trains hosts, a client that decides about them, and what tells and keeps the outcome."""

    engine: EngineProtocol
    client: SimicClient
    report: RoundReport
    checkpoints: CheckpointWriter

    def run(self, rounds: range) -> None:
        """Train for these rounds; a checkpoint before the first, so that a run can go on whenever it is
        interrupted, and after each.
        """
        self.checkpoints.save(rounds.start)
        for round_idx in rounds:
            rollout = self.engine.rollout(self.client, round_idx)
            updated = self.client.update()
            self.report.report(self.client.round_state, rollout, updated)
            self.checkpoints.save(round_idx + 1)
