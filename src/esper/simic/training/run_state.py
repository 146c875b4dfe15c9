"""What a run and a round are made of, and what is known of an env at a decision."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from esper.kasmina import GateConfig
from esper.leyline import SeedStateReport, SlotConfig, TrainingSignals
from esper.leyline.task import Loading, TaskSpec
from esper.leyline.telemetry import AnomalyDetected, EpochCompleted, ImprovementDetected, PlateauDetected
from esper.nissa import TelemetryHub
from esper.simic.agent import RolloutBuffer
from esper.simic.attribution import SAMPLED_ORDERS, CounterfactualMatrix, most_coalitions
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import RewardConfig
from esper.simic.telemetry import AnomalyDetector, TelemetryConfig
from esper.simic.training.config import TrainingConfig
from esper.simic.training.result import RoundResult
from esper.tamiyo import ActionMasks, Hidden
from esper.tolaria.data import SharedBatchIterator, TrainingData

if TYPE_CHECKING:
    from esper.simic.training.parallel_env_state import ParallelEnvState


ROLLING_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Subject:
    """What is trained: hosts of a task, the slots that seeds may grow in, and the data."""

    task_spec: TaskSpec
    slot_config: SlotConfig
    slots: tuple[str, ...]
    host_params: int
    data: TrainingData
    gates: GateConfig

    @property
    def max_configurations(self) -> int:
        """The most configurations of any validation pass."""
        return most_coalitions(len(self.slots), SAMPLED_ORDERS)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the policy and each env's host compute, the lower precision of the hosts, if any, and how batches
    reach them.
    """

    policy_device: torch.device
    env_devices: tuple[torch.device, ...]
    amp_dtype: torch.dtype | None
    loading: Loading


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where events go, how much is told, and what counts as trouble."""

    hub: TelemetryHub
    telemetry: TelemetryConfig
    detector: AnomalyDetector


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What a run is made of and what stays as it is from the first round to the last."""

    config: TrainingConfig
    subject: Subject
    placement: Placement
    reporter: Reporter
    reward_config: RewardConfig


@dataclass(slots=True)
class RoundState:
    """One round: its envs, what the policy remembers of it, and what is counted over all envs."""

    round_idx: int
    entropy_coef: float
    env_states: list[ParallelEnvState]
    train_batches: SharedBatchIterator
    buffer: RolloutBuffer
    hidden: Hidden | None
    started: float
    phase_s: dict[str, float]
    action_counts: Counter[str] = field(default_factory=Counter)
    action_successes: Counter[str] = field(default_factory=Counter)
    mask_hits: Counter[str] = field(default_factory=Counter)
    rewards: list[float] = field(default_factory=list)
    components: dict[str, list[float]] = field(default_factory=dict)
    images: int = 0


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
class EnvObservation:
    """What is known of one env when its next action is chosen.

    `penalty` is what a rollback in this epoch costs; `signals` are of the host that is there now. `turn` is
    a plateau that was reached or ended.
    """

    metrics: EpochCompleted
    matrix: CounterfactualMatrix | None
    turn: PlateauDetected | ImprovementDetected | None
    anomalies: list[AnomalyDetected]
    penalty: float
    signals: TrainingSignals
    reports: dict[str, SeedStateReport]
    masks: ActionMasks


@dataclass(frozen=True, slots=True)
class ActionExecutionResult:
    """What one step of actions leaves for the end of the episode.

    `truncated_bootstrap_targets` are (env, step) of episodes that the time limit cut off: the states after
    them still have a value. Each list of post-action state has one entry per env.
    """

    truncated_bootstrap_targets: list[tuple[int, int]] = field(default_factory=list)
    post_action_signals: list[TrainingSignals] = field(default_factory=list)
    post_action_slot_reports: list[dict[str, SeedStateReport]] = field(default_factory=list)
    post_action_masks: list[ActionMasks] = field(default_factory=list)
