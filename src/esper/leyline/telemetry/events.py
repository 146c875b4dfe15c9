"""The envelope of every event, and the one payload type of each event type."""

import typing
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from esper.leyline.telemetry.payloads import (
    ActionDistribution,
    AnomalyDetected,
    BatchCompleted,
    CounterfactualComputed,
    CounterfactualUnavailable,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    HostGradientNorms,
    ImprovementDetected,
    LastAction,
    LayerGradientHealth,
    MaskHitRates,
    PerformanceDegradation,
    PlateauDetected,
    PPOUpdateCompleted,
    RewardSummary,
    RoundStarted,
    RunCompleted,
    RunStarted,
    ScaffoldCredited,
    SeedFossilized,
    SeedGateEvaluated,
    SeedGerminated,
    SeedPruned,
    SeedStageChanged,
    ShapleyComputed,
    TelemetryLevelChanged,
    Throughput,
    Unstable,
    unstable_fields,
)

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
    """What happened; the value is the name in event files. In the order of `Payload`."""

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
