"""`python -m esper.scripts.telemetry_doc`: write docs/reference/telemetry.md from the payload types."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from esper.leyline.telemetry import EVENT_TYPE_OF, TelemetryEvent, unstable_fields

HEAD = """# Telemetry events

Made by `python -m esper.scripts.telemetry_doc`; a test checks that it is current.

`--telemetry-dir DIR` writes every event as one JSON object a line to `DIR/events.jsonl`, in the order in
which they happened; `esper.nissa.read_events` reads them back into these types. What does not repeat
(*no*) differs between two runs of one seeded command; all else is the same bit for bit on one machine.
Accuracies are fractions, losses means per target in nats, durations seconds. A float that JSON has no
number for is written `"nan"`, `"inf"` or `"-inf"`.

A folder that already has events is refused; a run that goes on with `--resume` adds to them. No event is
dropped: an output that is slower than training makes training wait.

Further outputs go by name into the same folder: `--telemetry-outputs tensorboard` (needs `pip install
tensorboard`), or those of other packages, which register under the entry point group
`esper.telemetry_outputs` a function from that folder to an object with `emit(event)` and `close()`.
`python -m esper.scripts.report DIR` makes one HTML page of the run, also of one that is still going on.

## Envelope

Round and env count from 0, epoch from 1; each is null where it does not apply. The payload is `data`.

"""


def telemetry_document() -> str:
    """The whole document."""
    parts = [HEAD, _table(TelemetryEvent), "\n## Payloads\n"]
    for payload, event_type in EVENT_TYPE_OF.items():
        doc = " ".join((inspect.getdoc(payload) or "").split())
        parts.append(f"\n### {event_type.value}\n\n{doc}\n\n{_table(payload)}")
    return "".join(parts)


def _table(cls: type) -> str:
    hints, unstable = typing.get_type_hints(cls), unstable_fields(cls)
    rows = ["| field | type | repeats |", "|---|---|---|"]
    if cls is TelemetryEvent:
        rows.append("| event_type | one of the names below | yes |")
    for item in dataclasses.fields(cls):
        if item.name != "data":
            repeats = "no" if item.name in unstable else "yes"
            rows.append(f"| {item.name} | {_type_name(hints[item.name])} | {repeats} |")
    return "\n".join(rows) + "\n"


_NAMES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "float",
    bool: "boolean",
    type(None): "null",
    Any: "any",
}


def _type_name(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in _NAMES:
        return _NAMES[kind]
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_type_name(argument) for argument in arguments)
    if origin is Literal:
        return ", ".join(f"`{argument}`" for argument in arguments)
    if origin is tuple:
        return f"list of {_type_name(arguments[0])}"
    if origin is Mapping:
        return f"object of {_type_name(arguments[1])}"
    raise TypeError(f"no name for {kind}; telemetry fields hold JSON values")


if __name__ == "__main__":
    Path("docs/reference/telemetry.md").write_text(telemetry_document(), encoding="utf-8")
