"""Results of a run, and the part of a checkpoint besides the agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from esper.leyline.errors import InputError
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


class TrainingProgress(BaseModel):
    """The state of a run between two rounds. `settings` are those that can change what is learnt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: dict[str, Any]
    rounds: int
    reward_normalizer: dict[str, Any]
    rolling_accuracies: list[float]
    best_accuracy: float
    escalated_epochs: int
    anomaly_detector: dict[str, Any]


def read_progress(path: Path, saved: Mapping[str, Any], settings: Mapping[str, Any]) -> TrainingProgress:
    """The progress in a checkpoint. Raises InputError unless a run with these settings can go on from it."""
    try:
        progress = TrainingProgress.model_validate(saved)
    except ValidationError:
        raise InputError(f"--resume {path}: was not written by --save of this trainer") from None
    for name, value in settings.items():
        if name != "rounds" and progress.settings.get(name) != value:
            raise InputError(
                f"--resume {path}: was trained with {name} {progress.settings.get(name)}, not {value}; "
                f"resume with the same settings"
            )
    if progress.rounds >= settings["rounds"]:
        raise InputError(
            f"--resume {path}: has {progress.rounds} round(s) already; pass --rounds with more than that"
        )
    return progress
