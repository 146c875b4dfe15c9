"""Guess the tables of a run file from what a run did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from golden.trace.trace import Trace

_ENVS_AT_MOST = 256


def suggest_env(trace: Trace) -> list[str]:
    """An ``[env]`` table as lines of TOML; empty where nothing looks like an env."""
    fields = _fields(trace)
    field = min(fields, key=lambda name: ("env" not in name.lower(), name.count("."), name), default=None)
    models = _models(trace)
    counts = {name: len(indices) for name, indices in models.items()}
    count = fields[field] if field is not None else max(counts.values(), default=0)
    fitting = [name for name in models if count > 1 and counts[name] % count == 0]
    lines = [f'field = "{field}"'] if field is not None else []
    if fitting:
        # Several rounds make several models per env, so the class with the most is the envs' own.
        module = max(fitting, key=lambda name: counts[name])
        lines += [f'module = "{module}"', f"count = {count}"]
        first = min(models[module])
        lines += [f"skip = {first}"] if first else []
    return ["[env]", *lines] if lines else []


def _fields(trace: Trace) -> dict[str, int]:
    """The fields of events that number something from 0, and how many values each takes."""
    seen: dict[str, set[Any]] = defaultdict(set)
    holders: dict[str, int] = defaultdict(int)
    for event in trace.events:
        for path, value in _leaves(event.payload, ""):
            seen[path].add(value)
            holders[path] += 1
    return {
        path: len(values)
        for path, values in seen.items()
        if "env" in path.lower()
        and all(type(value) is int for value in values)
        and 1 < len(values) <= _ENVS_AT_MOST
        and values == set(range(len(values)))
    }


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, int | str | float | bool | None):
        yield path, value


def _models(trace: Trace) -> dict[str, set[int]]:
    """The classes of models that take steps, and which of each class do, by order of creation."""
    found: dict[str, set[int]] = defaultdict(set)
    for process in trace.processes:
        for step in process.steps:
            for root in step.layout.roots:
                name, _, index = root.partition("#")
                if index.isdigit():
                    found[name].add(int(index))
    return found
