"""State of a module from `get_extra_state`, as text by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import xxhash

from .digest import described
from .paths import Patterns

_DEEPEST = 8
_PLAIN = (int, float, complex, str, bool, type(None))


def describe(
    value: Any, unstable: Patterns, path: str = "extra_state", depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Yield its leaves: numbers and text as they are, bytes and tensors by digest, others by class."""
    if unstable.name(path):
        return
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for key, item in value.items():
            yield from describe(item, unstable, f"{path}.{key}", depth + 1)
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for index, item in enumerate(value):
            yield from describe(item, unstable, f"{path}.{index}", depth + 1)
    else:
        yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor) and value.device.type != "meta":
        return described(value)
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes {xxhash.xxh3_64_hexdigest(value)}"
    if hasattr(value, "tobytes"):
        return f"{type(value).__name__} {xxhash.xxh3_64_hexdigest(value.tobytes())}"
    if hasattr(value, "getvalue"):
        return _text(value.getvalue())
    return f"({type(value).__name__})"
