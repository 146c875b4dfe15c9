"""Telemetry: the hub that every event passes, the outputs that it goes to, and the way back from a file."""

from esper.nissa.jsonl import EVENT_FILE as EVENT_FILE
from esper.nissa.jsonl import JsonLinesOutput as JsonLinesOutput
from esper.nissa.jsonl import event_record as event_record
from esper.nissa.jsonl import parse_event as parse_event
from esper.nissa.jsonl import read_events as read_events
from esper.nissa.outputs import TelemetryHub as TelemetryHub
from esper.nissa.outputs import TelemetryOutput as TelemetryOutput
from esper.nissa.outputs import get_hub as get_hub
from esper.nissa.outputs import make_output as make_output
