"""Data as JSON."""

from __future__ import annotations

import dataclasses
import json


def json_text(data: object) -> str:
    """Write data as JSON, dataclasses as objects with their fields."""
    return json.dumps(data, indent=2, ensure_ascii=False, default=_fields) + "\n"


def _fields(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} can't be written as JSON")
