"""Signs of trouble, and what follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass


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
