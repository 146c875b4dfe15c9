"""Attributes of modules that are neither parameters nor buffers: numbers, texts and tensors, by path."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
import xxhash
from torch import nn

from ..trace.digest import has_memory
from ..trace.paths import is_unstable
from .extra_state import describe

_OF_ALL = frozenset(vars(nn.Module()))
_NAMES = frozenset((torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format))
_BAGS = (list, tuple, deque, set, frozenset)
_LARGEST_MIB = 64
_LEAVES_AT_MOST = 2_000
_SHOWN = 120
# Measured, not set; a whole number of that name is a count, or a size.
_TIMED = re.compile(r"time|elapsed|seconds|latency|duration|start|begin|clock|fps|speed", re.IGNORECASE)
# Larger ones are addresses, or nanoseconds.
_LARGEST = 1 << 40
_CLOCKS = (time.time, time.perf_counter, time.monotonic)
_SINCE_S = 7 * 86400.0


def attributes(
    modules: Iterable[tuple[str, nn.Module]], unstable: Sequence[str], seen: set[str], unread: dict[str, None]
) -> Iterator[tuple[str, str]]:
    """Path and text of every attribute; ``unread`` takes the names of those that are too large.

    Left out are texts that may name folders, numbers that tell the time, and objects of other kinds.
    """
    for prefix, module in modules:
        of_torch = type(module).__module__.startswith("torch.")
        if module._buffers:
            yield f"{prefix}(buffers not kept)", ", ".join(sorted(module._non_persistent_buffers_set))
        for name, value in module.__dict__.items():
            if name in _OF_ALL or (of_torch and name.startswith("_")):
                continue
            kept = _kept(value, name)
            if kept is not None:
                yield from _told(f"{prefix}{name}", kept[0], unstable, seen, unread)


def _told(
    path: str, value: Any, unstable: Sequence[str], seen: set[str], unread: dict[str, None]
) -> Iterator[tuple[str, str]]:
    matching = [pattern for pattern in unstable if is_unstable(path, (pattern,))]
    seen.update(matching)
    if matching:
        return
    size = sum(t.numel() * t.element_size() for t in _tensors(value)) >> 20
    if size > _LARGEST_MIB:
        unread[f"attribute {path} of {size} MiB"] = None
        return
    leaves = list(describe(value, unstable, seen, path))
    if len(leaves) > _LEAVES_AT_MOST:
        unread[f"attribute {path} of {len(leaves)} values"] = None
        return
    text = leaves[0][1] if len(leaves) == 1 and leaves[0][0] == path else repr(sorted(leaves))
    yield path, text if len(text) <= _SHOWN else f"{text[:40]}… {xxhash.xxh3_64_hexdigest(text.encode())}"


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (Mapping, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(item)


def _kept(value: Any, name: str, depth: int = 0) -> tuple[Any] | None:
    """What is compared of a value, alone in a tuple; None for nothing."""
    kind = type(value)
    if kind in _NAMES:
        return (str(value),)
    if kind is bool or value is None or kind is complex:
        return (value,)
    if kind is int:
        return (value,) if abs(value) < _LARGEST else None
    if kind is float:
        return None if _TIMED.search(name) or _is_now(value) else (value,)
    if kind is str:
        return None if "/" in value or "\\" in value else (value,)
    if isinstance(value, torch.Tensor):
        # What is known of one without memory shows where it gets some.
        return (value,) if has_memory(value) and value.layout is torch.strided else None
    if kind.__module__ == "numpy" and hasattr(value, "tobytes") and value.dtype != object:
        return (value,)
    if depth > 3:
        return None
    if kind in (set, frozenset):
        value = sorted(value, key=repr)
    if kind in _BAGS:
        items = [_kept(item, name, depth + 1) for item in value]
        return None if None in items else ([item[0] for item in items if item is not None],)
    if isinstance(value, dict):
        rows = {str(key): _kept(item, f"{name}.{key}", depth + 1) for key, item in value.items()}
        return ({key: row[0] for key, row in rows.items() if row is not None},)
    return None


def _is_now(value: float) -> bool:
    return any(0 <= clock() - value < _SINCE_S for clock in _CLOCKS if value > 1e4)


def shared(tables: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Which names of parameters are one tensor."""
    names: dict[int, list[str]] = {}
    for prefix, params, _ in tables:
        for name, parameter in params.items():
            if parameter is not None:
                names.setdefault(id(parameter), []).append(f"{prefix}{name}")
    return "; ".join(" = ".join(sorted(each)) for each in names.values() if len(each) > 1)
