"""Telemetry: the hub that every event passes, the outputs that it goes to, and the way back from a file."""

from esper.nissa.jsonl import EVENT_FILE, JsonLinesOutput, event_record, parse_event, read_events
from esper.nissa.outputs import QueuedOutput, TelemetryHub, TelemetryOutput, get_hub, make_output

__all__ = [
    "EVENT_FILE",
    "JsonLinesOutput",
    "QueuedOutput",
    "TelemetryHub",
    "TelemetryOutput",
    "event_record",
    "get_hub",
    "make_output",
    "parse_event",
    "read_events",
]
