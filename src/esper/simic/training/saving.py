"""Write what a run can go on from, and go on from it."""

from __future__ import annotations

from dataclasses import dataclass

from esper.leyline.errors import naming_flag
from esper.simic.agent import PPOAgent
from esper.simic.training.checkpoint import TrainingProgress
from esper.simic.training.config import TrainingConfig
from esper.simic.training.reporter import Reporter
from esper.simic.training.run_state import RunProgress


@dataclass(frozen=True, slots=True)
class CheckpointWriter:
    """Writes all that the next round follows from, where a path was given and a policy learns."""

    config: TrainingConfig
    agent: PPOAgent | None
    progress: RunProgress
    reporter: Reporter

    def save(self, rounds: int) -> None:
        """Replace the checkpoint by one after so many rounds. OutputError if that can't be done."""
        if self.agent is None or self.config.save is None:
            return
        saved = TrainingProgress(
            settings=self.config.outcome_settings(),
            rounds=rounds,
            reward_normalizer=self.progress.reward_normalizer.state_dict(),
            rolling_accuracies=list(self.progress.rolling_accuracies),
            best_accuracy=self.progress.best_accuracy,
            escalated_epochs=self.reporter.telemetry.escalated_epochs,
            anomaly_detector=self.reporter.detector.state_dict(),
        )
        with naming_flag("--save"):
            self.agent.save(self.config.save, saved.model_dump())


def restore_progress(checkpoint: TrainingProgress, progress: RunProgress, reporter: Reporter) -> None:
    """Stand where a checkpoint was written."""
    progress.reward_normalizer.load_state_dict(checkpoint.reward_normalizer)
    progress.first_round = checkpoint.rounds
    progress.rolling_accuracies.extend(checkpoint.rolling_accuracies)
    progress.best_accuracy = checkpoint.best_accuracy
    reporter.telemetry.escalated_epochs = checkpoint.escalated_epochs
    reporter.detector.load_state_dict(checkpoint.anomaly_detector)
