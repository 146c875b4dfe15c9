"""Telemetry: the hub that every event passes, the outputs that it goes to, and the way back from a file."""

from esper.nissa.hub import TelemetryHub, TelemetryOutput, get_hub
from esper.nissa.jsonl import EVENT_FILE, JsonLinesOutput, event_record
from esper.nissa.outputs import make_output
from esper.nissa.queued import QueuedOutput
from esper.nissa.reader import parse_event, read_events

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
