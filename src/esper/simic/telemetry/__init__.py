"""How much telemetry to emit, and what to measure for it: gradients and numerical stability."""

from esper.simic.telemetry.gradients import (
    EXPLODING_NORM,
    VANISHING_NORM,
    GradientNorms,
    LayerGradientStats,
    collect_host_gradients_async,
    collect_per_layer_gradients,
    split_gradient_norms,
)
from esper.simic.telemetry.levels import TelemetryConfig, TelemetryLevel
from esper.simic.telemetry.stability import NumericalReport, check_numerical_stability

__all__ = [
    "EXPLODING_NORM",
    "VANISHING_NORM",
    "GradientNorms",
    "LayerGradientStats",
    "NumericalReport",
    "TelemetryConfig",
    "TelemetryLevel",
    "check_numerical_stability",
    "collect_host_gradients_async",
    "collect_per_layer_gradients",
    "split_gradient_norms",
]
