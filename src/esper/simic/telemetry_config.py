"""The specification's home of the settings of telemetry; they live in `simic.telemetry`."""

from esper.simic.telemetry import TelemetryConfig, TelemetryLevel

__all__ = ["TelemetryConfig", "TelemetryLevel"]
