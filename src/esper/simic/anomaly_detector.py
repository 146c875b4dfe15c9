"""The specification's home of `AnomalyReport`: the payload `leyline.telemetry.AnomalyDetected`."""

from esper.leyline.telemetry import AnomalyDetected as AnomalyReport
from esper.simic.telemetry import AnomalyDetector

__all__ = ["AnomalyDetector", "AnomalyReport"]
