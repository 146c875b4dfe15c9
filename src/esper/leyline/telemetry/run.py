"""A run, its rounds and episodes, from start to end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from esper.leyline.telemetry.marks import Unstable


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run as configured, up to `rounds` from `first_round`; `config` holds only what decides the
    result.
    """

    task: str
    seed: int
    first_round: int
    rounds: int
    envs: int
    episode_length: int
    slots: tuple[str, ...]
    host_params: int
    policy_params: int
    train_images: int
    val_images: int
    device: str
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """Fresh hosts begin to train."""

    env_seeds: tuple[int, ...]
    entropy_coef: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeCompleted:
    """One env finished its round. The return is the sum of raw rewards; accuracies are fractions."""

    final_accuracy: float
    best_accuracy: float
    episode_return: float
    germinated: int
    fossilized: int
    pruned: int
    rollbacks: int
    total_params: int
    host_params: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCompleted:
    """One round of all envs. Accuracies are fractions, in env order."""

    env_accuracies: tuple[float, ...]
    mean_accuracy: float
    rolling_accuracy: float
    mean_return: float
    env_steps: int
    seeds_germinated: int
    seeds_fossilized: int
    seeds_pruned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Work done in a round, and the time it took by phase."""

    env_steps: int
    images: int
    env_steps_per_s: Unstable[float]
    images_per_s: Unstable[float]
    duration_s: Unstable[float]
    phase_s: Unstable[Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted:
    """The end of a run."""

    rounds: int
    env_steps: int
    best_accuracy: float
    final_accuracy: float
    duration_s: Unstable[float]
