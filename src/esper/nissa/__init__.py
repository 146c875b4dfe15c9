"""Telemetry: the hub that every event passes, and the outputs that it goes to."""

from esper.nissa.hub import TelemetryHub, TelemetryOutput, get_hub
from esper.nissa.jsonl import JsonLinesOutput, event_record

__all__ = [
    "JsonLinesOutput",
    "TelemetryHub",
    "TelemetryOutput",
    "event_record",
    "get_hub",
]
