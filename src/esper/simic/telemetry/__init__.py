"""How much telemetry to emit, and what to measure for it."""

from esper.simic.telemetry.anomalies import (
    ESCALATION_EPOCHS,
    PLATEAU_EPOCHS,
    AnomalyDetector,
    AnomalyThresholds,
    TelemetryConfig,
    TelemetryLevel,
    detect_progress,
)
from esper.simic.telemetry.gradients import (
    EXPLODING_NORM,
    VANISHING_NORM,
    LayerGradientStats,
    collect_per_layer_gradients,
)
from esper.simic.telemetry.stability import NumericalReport, check_numerical_stability
from esper.tolaria.gradients import (
    GradientNorms,
    collect_host_gradients_async,
    collect_seed_gradients_async,
    split_gradient_norms,
)

__all__ = [
    "ESCALATION_EPOCHS",
    "EXPLODING_NORM",
    "PLATEAU_EPOCHS",
    "VANISHING_NORM",
    "AnomalyDetector",
    "AnomalyThresholds",
    "GradientNorms",
    "LayerGradientStats",
    "NumericalReport",
    "TelemetryConfig",
    "TelemetryLevel",
    "check_numerical_stability",
    "collect_host_gradients_async",
    "collect_per_layer_gradients",
    "collect_seed_gradients_async",
    "detect_progress",
    "split_gradient_norms",
]
