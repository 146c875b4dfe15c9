"""TensorBoard's event files by tag and step, read straight from their format.

A file is a sequence of records: length (u64), its checksum, the message, its checksum. A message is a
protocol buffer ``Event``: a wall time, a step and values by tag; only the last two are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import xxhash

from golden.outputs.pickles import Unreadable

_STEP, _GRAPH, _SUMMARY = 2, 4, 5
_VALUE, _TAG, _SIMPLE, _TENSOR, _METADATA = 1, 1, 2, 8, 9
# Holds the time at which a session began or ended.
_SESSION = ("_hparams_/session_start_info", "_hparams_/session_end_info")


def read_event_file(raw: bytes) -> tuple[Mapping[str, Any], ...]:
    """Return one row per value: tag, step, and the number, or the digest of what is none."""
    rows: list[Mapping[str, Any]] = []
    for message in _records(raw):
        step = 0
        for field, value in _fields(message):
            if field == _STEP and isinstance(value, int):
                step = value
            elif field == _GRAPH:
                # In which order it has the attributes of a node is chance.
                rows.append({"tag": "(graph)", "step": step, "value": _digest(bytes(sorted(value)))})
            elif field == _SUMMARY:
                rows += [
                    {"tag": tag, "step": step, "value": number}
                    for part, inside in _fields(value)
                    if part == _VALUE
                    for tag, number in [_value(inside)]
                    if tag not in _SESSION
                ]
    return tuple(rows)


def _records(raw: bytes) -> Iterator[bytes]:
    place = 0
    while place + 12 <= len(raw):
        (size,) = struct.unpack_from("<Q", raw, place)
        if place + 16 + size > len(raw):
            raise Unreadable(f"a record of {size} bytes at byte {place} is cut off")
        yield raw[place + 12 : place + 12 + size]
        place += 16 + size
    if place != len(raw):
        raise Unreadable(f"{len(raw) - place} bytes after the last record")


def _value(message: bytes) -> tuple[str, Any]:
    tag, content = "", b""
    number: Any = None
    for field, value in _fields(message):
        if field == _TAG:
            tag = value.decode("utf-8", "replace")
        elif field == _SIMPLE:
            number = struct.unpack("<f", value)[0]
        elif field != _METADATA:
            content += value if isinstance(value, bytes) else repr(value).encode()
    return tag, number if number is not None else _digest(content)


def _digest(content: Any) -> str:
    return f"bytes[{len(content)}] {xxhash.xxh3_128_hexdigest(content)}"


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field: an int, or the bytes of anything else."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        wire = key & 7
        if wire == 0:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if wire == 2:
            size, place = _varint(message, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise Unreadable(f"a field of wire type {wire}")
        yield key >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return (value - (1 << 64) if value >= 1 << 63 else value), place
    raise Unreadable("a number is cut off")
