"""What a run, a round and a step are made of on the agent's side."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from esper.leyline import SeedStateReport, TrainingSignals
from esper.leyline.rollout import HostObservation, SlotAction
from esper.leyline.telemetry import AnomalyDetected, ImprovementDetected, PlateauDetected
from esper.nissa import TelemetryHub
from esper.simic.agent import RolloutBuffer
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import RewardConfig
from esper.simic.telemetry import AnomalyDetector, TelemetryConfig
from esper.simic.training.config import TrainingConfig
from esper.simic.training.result import RoundResult
from esper.tamiyo import ActionMasks, Hidden
from esper.tolaria.setup import Placement, Subject

if TYPE_CHECKING:
    from esper.simic.training.parallel_env_state import ParallelEnvState


ROLLING_ROUNDS = 10


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
    """What an engine observed of one env, and what that means.

    `turn` is a plateau that was reached or ended; `penalty` is what a rollback in this epoch costs.
    """

    host: HostObservation
    turn: PlateauDetected | ImprovementDetected | None
    anomalies: list[AnomalyDetected]
    penalty: float
    masks: ActionMasks


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen for one env: the action, the choices of the heads that its operation reads, and what
    the policy thinks of the state and of every head's choice, in the order of HEAD_NAMES.
    """

    action: SlotAction
    choices: Mapping[str, str]
    value: float
    log_probs: Sequence[float]
    confidences: Sequence[float]


@dataclass(frozen=True, slots=True)
class StepReward:
    """What one env-step is worth: the raw reward, the parts that sum to it, and what the policy is told."""

    raw: float
    components: Mapping[str, float]
    normalised: float


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


@dataclass(slots=True)
class StepState:
    """One decision for all envs, and what became of it, env after env."""

    observations: Sequence[EnvObservation]
    decisions: Sequence[Decision]
    rewards: list[StepReward] = field(default_factory=list)
    dones: list[bool] = field(default_factory=list)
    result: ActionExecutionResult = field(default_factory=ActionExecutionResult)


@dataclass(slots=True)
class RoundState:
    """One round: its envs, what the policy remembers of it, and what is counted over all envs."""

    round_idx: int
    entropy_coef: float
    env_states: list[ParallelEnvState]
    buffer: RolloutBuffer
    hidden: Hidden | None
    started: float
    step: StepState = field(default_factory=lambda: StepState((), ()))
    action_counts: Counter[str] = field(default_factory=Counter)
    action_successes: Counter[str] = field(default_factory=Counter)
    mask_hits: Counter[str] = field(default_factory=Counter)
    rewards: list[float] = field(default_factory=list)
    components: dict[str, list[float]] = field(default_factory=dict)
