"""How a run file leaves out what two runs of one program don't have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator

from golden.compare.outcome import Different, EventChange, LivingState, OutputChange, ReadValue

_STREAMS = ("stdout", "stderr")


def ways_out(found: Different) -> list[str]:
    """Lines for a run file, as TOML; none where more differs than what the program tells of itself."""
    differing = (found.first, *found.rest)
    if not all(
        isinstance(each, EventChange | OutputChange | ReadValue) or _is_told(each) for each in differing
    ):
        return []
    keys: dict[tuple[str, str], dict[str, None]] = {}
    for each in differing:
        for key, value in _named(each):
            keys.setdefault(key, {})[value] = None
    return [f"[{table}] {key} = {json.dumps(list(values))}" for (table, key), values in keys.items()]


def _is_told(each: object) -> bool:
    """Whether only attributes of modules differ, which may be what a run calls itself."""
    return isinstance(each, LivingState) and all(
        kind.kind == "attributes" for change in each.changes for kind in change.kinds
    )


def _named(each: object) -> Iterator[tuple[tuple[str, str], str]]:
    match each:
        case ReadValue(sites=sites):
            yield from ((("observe", "unstable_values"), site.title.split(" ")[1]) for site in sites)
        case LivingState(changes=changes):
            names = (tensor.name for change in changes for kind in change.kinds for tensor in kind.tensors)
            yield from ((("outputs", "unstable"), name) for name in names)
        case EventChange(change="changed", fields=fields):
            yield from ((("events", "unstable"), field.path) for field in fields)
        case OutputChange(change="changed", place=place, output=output) if ".tfevents" in output:
            yield ("outputs", "unstable"), place.partition(", step ")[0]
        case OutputChange(change="changed", fields=fields, output=output):
            for field in fields:
                if field.path in ("line", "digest") or output in _STREAMS:
                    yield ("outputs", "mask"), f"a regular expression for what differs in {output}"
                else:
                    yield ("outputs", "unstable"), field.path
        case OutputChange(output=output):
            yield ("outputs", "mask"), f"a regular expression for what differs in the name of {output}"
