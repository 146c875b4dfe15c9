"""The outer loop of training: rounds of fresh hosts, each followed by one update of the policy."""

from __future__ import annotations

from dataclasses import dataclass

from esper.leyline import EngineProtocol
from esper.simic.client import SimicClient
from esper.simic.training.round_end import PolicyMeasures, report_round, save_checkpoint
from esper.simic.training.run_state import RunProgress, RunSetup


@dataclass(frozen=True, slots=True)
class VectorizedPPOTrainer:
    """An engine that trains hosts, a client that decides about them, and how far both have come."""

    setup: RunSetup
    progress: RunProgress
    engine: EngineProtocol
    client: SimicClient
    measures: PolicyMeasures

    def run(self) -> None:
        """Train for the rounds that are left; a checkpoint after each, if one was asked for."""
        setup, progress, agent = self.setup, self.progress, self.client.agent
        for round_idx in range(progress.first_round, setup.config.rounds):
            rollout = self.engine.rollout(self.client, round_idx)
            updated = self.client.update()
            report_round(
                self.client.round_state,
                rollout,
                updated,
                setup=setup,
                progress=progress,
                agent=agent,
                measures=self.measures,
            )
            save_checkpoint(round_idx + 1, agent=agent, setup=setup, progress=progress)
