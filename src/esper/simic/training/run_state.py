"""What a run is made of on the agent's side: what stays as it is, and how far it has come."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from esper.simic.control import RewardNormalizer
from esper.simic.rewards import RewardConfig
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
