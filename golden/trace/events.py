"""Telemetry events, stripped of what may differ, and before which backward pass or step each was written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden.trace.errors import RunFailed
from golden.trace.paths import Patterns

# The number of an optimizer step, and within it a point: its backward passes in order, then the step itself.
Moment = tuple[int, int]
# By event file, how many of its lines were there at each point of a step.
Written = Mapping[str, Sequence[int]]


def moments(
    files: Mapping[str, int], events: int, steps: Sequence[tuple[int, Written | None]]
) -> list[Moment | None]:
    """For every event the first point at which it was there; the one after the last step if none.

    ``files`` gives the first event of each file; ``steps`` are numbers of steps with what was written then.
    None for all events if that was not noted.
    """
    found: list[Moment | None] = [None] * events
    if not files or any(written is None for _, written in steps):
        return found
    last = (steps[-1][0] + 1, 0) if steps else (0, 0)
    starts = sorted(files.items(), key=lambda item: item[1])
    ends = [start for _, start in starts[1:]] + [events]
    for (name, start), end in zip(starts, ends, strict=True):
        place = start
        for number, written in steps:
            for point, count in enumerate((written or {}).get(name, ())):
                while place < min(start + count, end):
                    found[place] = (number, point)
                    place += 1
        found[place:end] = [last] * (end - place)
    return found


def dated(left: Moment | None, right: Moment | None) -> Moment | None:
    """Return when an event was there on both sides, by the one that came to it in fewer steps; None if one is
    not known.
    """
    if left is None or right is None:
        return None
    return max(left, right) if left[0] == right[0] else min(left, right)


@dataclass(frozen=True, slots=True)
class Event:
    """One telemetry event. ``payload`` holds the compared fields only; ``env`` is None outside any env.

    ``moment`` is when it was written, where that was noted.
    """

    kind: str
    env: int | None
    payload: Mapping[str, Any]
    moment: Moment | None = field(default=None, compare=False)

    @property
    def line(self) -> str:
        """The event in canonical form; two events are the same when their lines are."""
        return json.dumps(self.payload, sort_keys=True, separators=(",", ":"))


def read_events(path: Path, *, type_field: str, env_field: str | None, unstable: Patterns) -> list[Event]:
    """Read the events of a JSON-lines file in order. Raises `RunFailed` for a line that is no JSON object."""
    events = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("not an object")
        except ValueError:
            raise RunFailed(
                f"{path.name} line {number}: not a JSON object: {line[:60]!r}; "
                "the script stopped while writing it, or `events.files` matches another kind of file"
            ) from None
        events.append(_event(record, type_field, env_field, unstable))
    return events


def _event(record: dict[str, Any], type_field: str, env_field: str | None, unstable: Patterns) -> Event:
    env = lookup(record, env_field) if env_field else None
    kind = lookup(record, type_field)
    payload = _stable(record, unstable, "")
    return Event(
        kind=_well_formed(kind) if kind is not None else "(no type)",
        env=env if isinstance(env, int) and not isinstance(env, bool) else None,
        payload=payload,
    )


def _well_formed(kind: Any) -> str:
    """Return a type as text that every file and terminal takes: half a surrogate pair is spelled out."""
    return str(kind).encode("utf-8", "backslashreplace").decode("utf-8")


def lookup(record: Any, dotted: str) -> Any:
    """Return the value at a dotted path, or None."""
    for part in dotted.split("."):
        record = record.get(part) if isinstance(record, Mapping) else None
    return record


def _stable(value: Any, unstable: Patterns, path: str) -> Any:
    if isinstance(value, dict):
        kept = {}
        for key, item in value.items():
            below = f"{path}.{key}" if path else key
            if not unstable.name(below):
                kept[key] = _stable(item, unstable, below)
        return kept
    if isinstance(value, list):
        return [_stable(item, unstable, f"{path}.{index}") for index, item in enumerate(value)]
    return value
