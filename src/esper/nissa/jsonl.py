"""Events as lines of JSON: written as they come, and read back."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TextIO

from esper.leyline.errors import InputError, OutputError
from esper.leyline.telemetry import PAYLOAD_OF, TelemetryEvent, TelemetryEventType

EVENT_FILE = "events.jsonl"


def event_record(event: TelemetryEvent) -> dict[str, Any]:
    """An event as JSON values. Floats keep every bit; those that JSON has no number for become `nan`,
    `inf`, `-inf`.
    """
    return {
        "event_type": event.event_type.value,
        "round": event.round,
        "epoch": event.epoch,
        "env": event.env,
        "slot": event.slot,
        "severity": event.severity,
        "data": {
            item.name: _plain(getattr(event.data, item.name)) for item in dataclasses.fields(event.data)
        },
        "event_id": event.event_id,
        "timestamp": event.timestamp,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"a telemetry payload holds a {type(value).__name__}; only JSON values belong there")


class JsonLinesOutput:
    """Writes each event to `events.jsonl` in a folder as it comes, so that a run that ends early has
    lost none.

    Folder and file are made with the first event: a run that never starts leaves nothing behind. Events
    of an earlier run are never overwritten: `append` adds to them, for a run that goes on from a
    checkpoint. Raises InputError where they are in the way, or nothing can be written, and OutputError where
    no more can be: the lines before are whole, and the last may be cut off.
    """

    def __init__(self, folder: Path, *, append: bool = False) -> None:
        self._folder = folder
        self._append = append
        self._stream: TextIO | None = None
        if not append:
            self._check_free()

    def emit(self, event: TelemetryEvent) -> None:
        """Write one line."""
        line = json.dumps(event_record(event), allow_nan=False) + "\n"
        try:
            if self._stream is None:
                self._stream = self._open()
        except OSError as error:
            raise InputError(
                f"--telemetry-dir {self._folder}: {EVENT_FILE} cannot be written there ({error.strerror})"
            ) from error
        try:
            self._stream.write(line)
        except OSError as error:
            raise self._full(error) from error

    def close(self) -> None:
        """Flush and close the file."""
        if self._stream is None:
            return
        stream, self._stream = self._stream, None
        try:
            stream.close()
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> OutputError:
        return OutputError(
            f"--telemetry-dir {self._folder}: {EVENT_FILE} cannot be written any more ({error.strerror}); "
            f"the events before are there"
        )

    def _open(self) -> TextIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / EVENT_FILE
        if self._append:
            _drop_cut_off_line(path)
        try:
            # Another run may have begun to write there since the check.
            stream = path.open("a" if self._append else "x", encoding="utf-8", newline="\n", buffering=1)
        except FileExistsError:
            self._check_free()
            raise
        return stream

    def _check_free(self) -> None:
        if (self._folder / EVENT_FILE).exists():
            raise InputError(
                f"--telemetry-dir {self._folder}: has the {EVENT_FILE} of an earlier run; choose another "
                f"folder, or --resume that run to add to them"
            )


def _drop_cut_off_line(path: Path) -> None:
    """Take away a last line without an end, which a killed run left: no event, and in the way of the next."""
    if not path.exists():
        return
    with path.open("rb+") as stream:
        content = stream.read()
        stream.truncate(content.rfind(b"\n") + 1)


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
    name = record.get("event_type") if isinstance(record, dict) else None
    if name not in PAYLOAD_OF:
        raise _Mismatch(f"unknown event type {name!r}; known are {', '.join(TelemetryEventType)}")
    place = {key: value for key, value in record.items() if key != "event_type"}
    data = _parse_fields(PAYLOAD_OF[name], place.get("data"), f"{name}.data")
    return TelemetryEvent(**{**_parse_fields(TelemetryEvent, place, name), "data": PAYLOAD_OF[name](**data)})


def _parse_fields(cls: type, values: Any, where: str) -> dict[str, Any]:
    hints = _hints(cls)
    if not isinstance(values, dict):
        raise _Mismatch(f"{where} must be an object, not {json.dumps(values)}")
    if odd := sorted(hints.keys() ^ values.keys()):
        raise _Mismatch(f"{where}: foreign or missing {', '.join(odd)}")
    return {name: _parse(value, hints[name], f"{where}.{name}") for name, value in values.items()}


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return hints | {"data": Any} if cls is TelemetryEvent else hints


def _parse(value: Any, kind: Any, where: str) -> Any:
    """A JSON value as the declared type; a bool is no number, and an integer no float."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or (value is None and type(None) in arguments):
        return value
    if origin in (types.UnionType, typing.Union):
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
    if origin is None and type(value) is kind:
        return value
    raise _Mismatch(f"{where} does not fit: {json.dumps(value)}")
