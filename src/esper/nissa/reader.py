"""Read an event file back into the types that its events were written from."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from esper.leyline.errors import InputError
from esper.leyline.telemetry import PAYLOAD_OF, TelemetryEvent, TelemetryEventType

NOT_NUMBERS = ("nan", "inf", "-inf")
"""How event files spell the floats that JSON has no number for."""


class _Mismatch(Exception):
    """A value that is not of the declared type; the message says which and what it should be."""


def read_events(path: Path, *, cut_off_end: bool = False) -> Iterator[TelemetryEvent]:
    """The events of a file in their order.

    Raises InputError, naming the line, for anything that no trainer of this version writes: a foreign or
    missing field, an unknown event type, a value of another type. With `cut_off_end` a last line that a
    killed run left unfinished is left out.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: cannot be read ({reason})") from None
    *whole, rest = lines
    for number, line in enumerate(whole, start=1):
        try:
            yield parse_event(json.loads(line))
        except ValueError:
            raise InputError(f"{path}:{number}: not JSON; was the file changed?") from None
        except _Mismatch as problem:
            raise InputError(f"{path}:{number}: {problem}; written by another version?") from None
    if rest and not cut_off_end:
        raise InputError(f"{path}:{len(lines)}: cut off; the run that wrote it was stopped")


def parse_event(record: Any) -> TelemetryEvent:
    """One event from what JSON gives; raises an error that names the field that does not fit."""
    if not isinstance(record, dict):
        raise _Mismatch(f"must be an object, not {_name(record)}")
    name = record.get("event_type")
    if name not in PAYLOAD_OF:
        known = ", ".join(TelemetryEventType)
        raise _Mismatch(f"unknown event type {name!r}; known are {known}")
    place = {key: value for key, value in record.items() if key not in ("event_type", "data")}
    if "data" not in record:
        raise _Mismatch(f"{name}: no field data")
    payload = _parse_fields(PAYLOAD_OF[name], record["data"], f"{name}.data")
    envelope = {item.name: item for item in dataclasses.fields(TelemetryEvent) if item.name != "data"}
    _check_names(envelope, place, name)
    hints = _hints(TelemetryEvent)
    return TelemetryEvent(
        data=payload,
        **{key: _parse(value, hints[key], f"{name}.{key}") for key, value in place.items()},
    )


def _parse_fields(cls: type, values: Any, where: str) -> Any:
    if not isinstance(values, dict):
        raise _Mismatch(f"{where} must be an object, not {_name(values)}")
    hints = _hints(cls)
    _check_names(hints, values, where)
    return cls(**{name: _parse(value, hints[name], f"{where}.{name}") for name, value in values.items()})


def _check_names(known: Mapping[str, Any], given: Mapping[str, Any], where: str) -> None:
    for name in given:
        if name not in known:
            raise _Mismatch(f"{where}: foreign field {name!r}")
    for name in known:
        if name not in given:
            raise _Mismatch(f"{where}: no field {name}")


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _parse(value: Any, kind: Any, where: str) -> Any:
    """A JSON value as the declared type; a bool is no number, and an integer no float."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _parse(value, arguments[0], where)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        [other] = [argument for argument in arguments if argument is not type(None)]
        return _parse(value, other, where)
    if origin is Literal and value in arguments:
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_parse(item, arguments[0], f"{where}[{index}]") for index, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _parse(item, arguments[1], f"{where}.{key}") for key, item in value.items()}
    if kind is float and isinstance(value, str) and value in NOT_NUMBERS:
        return float(value)
    if kind in (str, int, float, bool) and type(value) is kind:
        return value
    raise _Mismatch(f"{where} must be {_type_name(kind)}, not {_name(value)}")


_JSON_NAMES = {str: "a string", int: "an integer", float: "a float", bool: "true or false"}


def _type_name(kind: Any) -> str:
    if kind in _JSON_NAMES:
        return _JSON_NAMES[kind]
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(kind)))
    return "a list" if typing.get_origin(kind) is tuple else "an object"


def _name(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | str):
        return json.dumps(value)
    return "a list" if isinstance(value, list) else "an object"
