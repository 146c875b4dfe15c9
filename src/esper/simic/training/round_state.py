"""The state of a round, of its envs and of a step, on the agent's side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from esper.leyline import SeedStateReport, TrainingSignals
from esper.leyline.rollout import HostObservation
from esper.leyline.telemetry import AnomalyDetected, ImprovementDetected, PlateauDetected
from esper.simic.agent import RolloutBuffer
from esper.simic.agent.rollout import Decision, StepReward
from esper.simic.attribution import Comparison, CounterfactualMatrix
from esper.simic.rewards import ScaffoldLedger
from esper.tamiyo import ActionMasks, Hidden


@dataclass(slots=True)
class ParallelEnvState:
    """One env of a round: where it stands, its random state for actions, and what its seeds earned."""

    env_idx: int
    round_idx: int
    action_generator: torch.Generator
    epoch: int = 0
    comparison: Comparison = field(default_factory=Comparison)
    matrix: CounterfactualMatrix | None = None
    scaffolds: ScaffoldLedger = field(default_factory=ScaffoldLedger)
    escrow: dict[str, float] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EnvObservation:
    """Observation of one env by an engine, with its meaning.

    `turn` is a plateau that was reached or ended; `penalty` is what a rollback in this epoch costs.
    """

    host: HostObservation
    turn: PlateauDetected | ImprovementDetected | None
    anomalies: list[AnomalyDetected]
    penalty: float
    masks: ActionMasks


@dataclass(frozen=True, slots=True)
class ActionExecutionResult:
    """Result of one step of actions, kept until the end of the episode.

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
