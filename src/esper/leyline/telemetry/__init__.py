"""Telemetry events: one envelope, one frozen payload type per event type.

A field that cannot repeat between two runs of one seeded command (identity, wall-clock time, durations,
rates) is declared as `Unstable[T]`; everything else must repeat bit for bit.
"""

from esper.leyline.telemetry.events import (
    EVENT_TYPE_OF,
    PAYLOAD_OF,
    Payload,
    Severity,
    TelemetryEvent,
    TelemetryEventType,
    all_unstable_paths,
)
from esper.leyline.telemetry.health import (
    AnomalyDetected,
    PerformanceDegradation,
    TelemetryLevelChanged,
)
from esper.leyline.telemetry.hosts import (
    CounterfactualComputed,
    CounterfactualUnavailable,
    EpochCompleted,
    GovernorRollback,
    HostGradientNorms,
    ImprovementDetected,
    LastAction,
    PlateauDetected,
    ShapleyComputed,
)
from esper.leyline.telemetry.marks import (
    UNSTABLE,
    Unstable,
    unstable_fields,
)
from esper.leyline.telemetry.policy import (
    ActionDistribution,
    LayerGradientHealth,
    MaskHitRates,
    PPOUpdateCompleted,
    RewardSummary,
)
from esper.leyline.telemetry.run import (
    BatchCompleted,
    EpisodeCompleted,
    RoundStarted,
    RunCompleted,
    RunStarted,
    Throughput,
)
from esper.leyline.telemetry.seeds import (
    ScaffoldCredited,
    SeedFossilized,
    SeedGateEvaluated,
    SeedGerminated,
    SeedPruned,
    SeedStageChanged,
)

__all__ = [
    "EVENT_TYPE_OF",
    "PAYLOAD_OF",
    "UNSTABLE",
    "ActionDistribution",
    "AnomalyDetected",
    "BatchCompleted",
    "CounterfactualComputed",
    "CounterfactualUnavailable",
    "EpisodeCompleted",
    "EpochCompleted",
    "GovernorRollback",
    "HostGradientNorms",
    "ImprovementDetected",
    "LastAction",
    "LayerGradientHealth",
    "MaskHitRates",
    "PPOUpdateCompleted",
    "Payload",
    "PerformanceDegradation",
    "PlateauDetected",
    "RewardSummary",
    "RoundStarted",
    "RunCompleted",
    "RunStarted",
    "ScaffoldCredited",
    "SeedFossilized",
    "SeedGateEvaluated",
    "SeedGerminated",
    "SeedPruned",
    "SeedStageChanged",
    "Severity",
    "ShapleyComputed",
    "TelemetryEvent",
    "TelemetryEventType",
    "TelemetryLevelChanged",
    "Throughput",
    "Unstable",
    "all_unstable_paths",
    "unstable_fields",
]
