"""Events as JSON lines: one object a line, keys in a fixed order, floats exact."""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from esper.leyline.errors import InputError, OutputError
from esper.leyline.telemetry import TelemetryEvent

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
