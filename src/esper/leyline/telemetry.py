"""Telemetry events: one envelope, one frozen payload type per event type.

A field that cannot repeat between two runs of one seeded command (identity, wall-clock time, durations,
rates) is declared as `Unstable[T]`; everything else must repeat bit for bit.
"""

from __future__ import annotations

import dataclasses
import typing
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

T = TypeVar("T")
UNSTABLE = "unstable"
Unstable = Annotated[T, UNSTABLE]


def unstable_fields(cls: type) -> frozenset[str]:
    """Names of the fields of a dataclass that two equal runs do not share."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return frozenset(
        item.name
        for item in dataclasses.fields(cls)
        if UNSTABLE in getattr(hints[item.name], "__metadata__", ())
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceDegradation:
    """Mean final accuracy fell behind its rolling average by more than a share."""

    accuracy: float
    rolling_accuracy: float
    drop: float
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyDetected:
    """A sign of numerical or learning trouble."""

    kind: str
    detail: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryLevelChanged:
    """Telemetry was raised after an anomaly, or fell back."""

    level: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCompleted:
    """One host trained and validated for one epoch. Losses are means per sample; accuracies are fractions."""

    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    train_samples: int
    val_samples: int
    seeds: Mapping[str, str]
    total_params: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LastAction:
    """The decision taken in one env after an epoch, and what came of it.

    `heads` maps the name of an action head to the chosen choice; `masked` says which heads had more
    than one valid choice taken away by the mask; `reward_components` sum to `reward`.
    """

    operation: str
    target_slot: str | None
    heads: Mapping[str, str]
    success: bool
    reward: float
    normalised_reward: float
    reward_components: Mapping[str, float]
    value: float
    log_prob: float
    op_confidence: float
    masked: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlateauDetected:
    """A host's best validation accuracy has not risen for `epochs` epochs; once per plateau."""

    best_accuracy: float
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovementDetected:
    """A host's best validation accuracy rose by `gain` after a plateau of `plateau_epochs` epochs."""

    best_accuracy: float
    gain: float
    plateau_epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualComputed:
    """Validation accuracy by configuration (slots enabled, joined by `+`; `none` for none), and what
    each slot adds.

    `interactions` maps two slots, joined by `+`, to what having both adds over having each.
    """

    accuracies: Mapping[str, float]
    contributions: Mapping[str, float]
    interactions: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualUnavailable:
    """No contribution could be computed for an env in this epoch."""

    reason: str
    slots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapleyComputed:
    """Each slot's Shapley share of the accuracy that the seeds of an env added, at its episode's end.

    The shares sum to `full_accuracy - bare_accuracy`. `standard_errors` are of a sampled estimate, and
    empty for exact values.
    """

    method: Literal["exact", "sampled"]
    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    full_accuracy: float
    bare_accuracy: float
    configurations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGradientNorms:
    """Mean 2-norms, over the batches measured in an epoch, of the host's gradient and of each seed's by
    slot.
    """

    host: float
    seeds: Mapping[str, float]
    batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernorRollback:
    """The watchdog put an earlier state of a host back."""

    reason: str
    loss: float
    restored_epoch: int
    consecutive: int
    pruned_slots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGradientHealth:
    """Gradient norms of the policy's layers after one update."""

    layers: int
    norm_min: float
    norm_mean: float
    norm_max: float
    vanishing: int
    exploding: int
    nonfinite: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskHitRates:
    """By action head: decisions in which the mask took at least one choice away, and all decisions."""

    hits: Mapping[str, int]
    total: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDistribution:
    """How often each operation was chosen in a round, and how often it succeeded."""

    counts: Mapping[str, int]
    successes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSummary:
    """Raw rewards of a round: mean, spread, and the mean of each component."""

    mean: float
    std: float
    minimum: float
    maximum: float
    components: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOUpdateCompleted:
    """Means over one policy update. `grad_norm` is before clipping; `skipped` is why nothing was
    learnt, if so.
    """

    skipped: str | None
    stopped_early: bool
    epochs: int
    metrics: Mapping[str, float]
    entropy_coef: float
    grad_norm_surrogate: float | None
    duration_s: Unstable[float]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedGerminated:
    """A module started to grow in a slot."""

    seed_id: str
    blueprint: str
    params: int
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedStageChanged:
    """A seed moved between two stages of its life."""

    seed_id: str
    blueprint: str
    from_stage: str
    to_stage: str
    epochs_in_stage: int
    alpha: float
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedGateEvaluated:
    """A gate between two stages was asked. `failed` names the checks that did not hold."""

    seed_id: str
    gate: str
    passed: bool
    score: float
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFossilized:
    """A seed became a permanent part of its host. Accuracies are fractions."""

    seed_id: str
    blueprint: str
    params: int
    epochs: int
    accuracy_gain: float
    contribution: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPruned:
    """A seed was removed; `initiator` is the policy, the governor or a schedule."""

    seed_id: str
    blueprint: str
    epochs: int
    reason: str
    initiator: str
    accuracy_gain: float
    contribution: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldCredited:
    """A seed that helped another got credit when the other became permanent; the event's slot is the
    helper's.

    `boost` is the mean interaction of the two while both took part (fraction of accuracy), `delay` the
    epochs since that was last measured.
    """

    seed_id: str
    beneficiary: str
    boost: float
    delay: int
    credit: float


Severity = Literal["debug", "info", "warning", "error"]

Payload = (
    RunStarted
    | RoundStarted
    | EpochCompleted
    | PlateauDetected
    | ImprovementDetected
    | LastAction
    | SeedGerminated
    | SeedStageChanged
    | SeedGateEvaluated
    | SeedFossilized
    | SeedPruned
    | ScaffoldCredited
    | CounterfactualComputed
    | CounterfactualUnavailable
    | ShapleyComputed
    | HostGradientNorms
    | LayerGradientHealth
    | GovernorRollback
    | EpisodeCompleted
    | PerformanceDegradation
    | MaskHitRates
    | ActionDistribution
    | RewardSummary
    | PPOUpdateCompleted
    | AnomalyDetected
    | TelemetryLevelChanged
    | BatchCompleted
    | Throughput
    | RunCompleted
)


class TelemetryEventType(StrEnum):
    """Kind of an event; the value is the name in event files. In the order of `Payload`."""

    RUN_STARTED = "RUN_STARTED"
    ROUND_STARTED = "ROUND_STARTED"
    EPOCH_COMPLETED = "EPOCH_COMPLETED"
    PLATEAU_DETECTED = "PLATEAU_DETECTED"
    IMPROVEMENT_DETECTED = "IMPROVEMENT_DETECTED"
    LAST_ACTION = "LAST_ACTION"
    SEED_GERMINATED = "SEED_GERMINATED"
    SEED_STAGE_CHANGED = "SEED_STAGE_CHANGED"
    SEED_GATE_EVALUATED = "SEED_GATE_EVALUATED"
    SEED_FOSSILIZED = "SEED_FOSSILIZED"
    SEED_PRUNED = "SEED_PRUNED"
    SCAFFOLD_CREDITED = "SCAFFOLD_CREDITED"
    COUNTERFACTUAL_COMPUTED = "COUNTERFACTUAL_COMPUTED"
    COUNTERFACTUAL_UNAVAILABLE = "COUNTERFACTUAL_UNAVAILABLE"
    SHAPLEY_COMPUTED = "SHAPLEY_COMPUTED"
    HOST_GRADIENT_NORMS = "HOST_GRADIENT_NORMS"
    LAYER_GRADIENT_HEALTH = "LAYER_GRADIENT_HEALTH"
    GOVERNOR_ROLLBACK = "GOVERNOR_ROLLBACK"
    EPISODE_COMPLETED = "EPISODE_COMPLETED"
    PERFORMANCE_DEGRADATION = "PERFORMANCE_DEGRADATION"
    MASK_HIT_RATES = "MASK_HIT_RATES"
    ACTION_DISTRIBUTION = "ACTION_DISTRIBUTION"
    REWARD_SUMMARY = "REWARD_SUMMARY"
    PPO_UPDATE_COMPLETED = "PPO_UPDATE_COMPLETED"
    ANOMALY_DETECTED = "ANOMALY_DETECTED"
    TELEMETRY_LEVEL_CHANGED = "TELEMETRY_LEVEL_CHANGED"
    BATCH_COMPLETED = "BATCH_COMPLETED"
    THROUGHPUT = "THROUGHPUT"
    RUN_COMPLETED = "RUN_COMPLETED"


EVENT_TYPE_OF: Mapping[type, TelemetryEventType] = dict(
    zip(typing.get_args(Payload), TelemetryEventType, strict=True)
)
PAYLOAD_OF: Mapping[str, type] = {event_type.value: payload for payload, event_type in EVENT_TYPE_OF.items()}


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class TelemetryEvent:
    """A payload with its place in the run: round, epoch, env and slot, each None where it does not apply."""

    data: Payload
    round: int | None = None
    epoch: int | None = None
    env: int | None = None
    slot: str | None = None
    severity: Severity = "info"
    event_id: Unstable[str] = field(default_factory=_new_id)
    timestamp: Unstable[str] = field(default_factory=_now)

    @property
    def event_type(self) -> TelemetryEventType:
        """The type that belongs to the payload."""
        return EVENT_TYPE_OF[type(self.data)]


def all_unstable_paths() -> tuple[str, ...]:
    """Paths of every unstable field in an event file, `data.` first for those of payloads; sorted."""
    paths = set(unstable_fields(TelemetryEvent))
    for payload in EVENT_TYPE_OF:
        paths |= {f"data.{name}" for name in unstable_fields(payload)}
    return tuple(sorted(paths))
