"""The specification's home of the settings of telemetry; they live in `simic.telemetry`."""

from esper.simic.telemetry import TelemetryConfig as TelemetryConfig
from esper.simic.telemetry import TelemetryLevel as TelemetryLevel
