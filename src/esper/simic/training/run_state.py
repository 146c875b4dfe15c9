"""The state of a run between rounds, and its checkpoints."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from esper.leyline.errors import naming_flag
from esper.simic.agent import PPOAgent
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import RewardConfig
from esper.simic.training.checkpoint import TrainingProgress
from esper.simic.training.config import TrainingConfig
from esper.simic.training.reporter import Reporter
from esper.simic.training.result import RoundResult
from esper.tolaria.setup import Placement, Subject

ROLLING_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What a run is made of and what stays as it is from the first round to the last."""

    config: TrainingConfig
    subject: Subject
    placement: Placement
    reporter: Reporter
    reward_config: RewardConfig


@dataclass(slots=True)
class RunProgress:
    """How far a run has come, and what outlives a round besides the agent."""

    reward_normalizer: RewardNormalizer
    first_round: int = 0
    rolling_accuracies: deque[float] = field(default_factory=lambda: deque(maxlen=ROLLING_ROUNDS))
    best_accuracy: float = 0.0
    final_accuracy: float = 0.0
    env_steps: int = 0
    rounds: list[RoundResult] = field(default_factory=list)


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
