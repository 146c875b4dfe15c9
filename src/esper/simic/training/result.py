"""What a run leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass

from esper.simic.agent import PPOAgent


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One round: final validation accuracy (fraction) and summed raw reward of each env, in env order."""

    accuracies: tuple[float, ...]
    returns: tuple[float, ...]
    policy_metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The trained policy, None where rules acted, and the rounds of this run."""

    agent: PPOAgent | None
    rounds: tuple[RoundResult, ...]
