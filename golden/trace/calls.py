"""What a golden keeps of calls of other ranks: each with short digests; of very many, one digest a step."""

from __future__ import annotations

import json
from collections.abc import Sequence

import xxhash
from pydantic import BaseModel, ConfigDict

from golden.trace.trace import Call, Process

# About 50 KiB of text.
CALLS_AT_MOST = 2000
_SHORT = 8


class CallRows(BaseModel):
    """The calls of one process: a row for those before each step, and a last one for those after all.

    A call of a row is the number of its text, the backward passes before it, and short digests of what was
    given and got, as ``0@2:1f3a5b7c:``. With ``whole`` a row is a digest of all its calls.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    texts: list[str]
    rows: list[str]
    whole: bool = False


def keep_calls(processes: Sequence[Process]) -> dict[str, CallRows] | None:
    """The calls by process; None where no process made one."""
    found = {process.name: [*(step.calls for step in process.steps), process.calls] for process in processes}
    count = sum(len(calls) for rows in found.values() for calls in rows)
    if not count:
        return None
    return {name: _rows(rows, whole=count > CALLS_AT_MOST) for name, rows in found.items()}


def kept_calls(kept: CallRows) -> list[tuple[Call, ...]]:
    """The calls of each row that is not ``whole``."""
    return [tuple(_call(part, kept.texts) for part in row.split()) for row in kept.rows]


def _rows(rows: Sequence[Sequence[Call]], *, whole: bool) -> CallRows:
    if whole:
        every = [[(call.text, call.gives, call.gets) for call in calls] for calls in rows]
        return CallRows(texts=[], rows=[_digest(calls) for calls in every], whole=True)
    texts = list(dict.fromkeys(call.text for calls in rows for call in calls))
    number = {text: index for index, text in enumerate(texts)}
    told = [
        " ".join(f"{number[c.text]}@{c.point}:{c.gives[:_SHORT]}:{c.gets[:_SHORT]}" for c in calls)
        for calls in rows
    ]
    return CallRows(texts=texts, rows=told)


def _call(part: str, texts: Sequence[str]) -> Call:
    where, gives, gets = part.split(":")
    number, _, point = where.partition("@")
    return Call(texts[int(number)], int(point), gives, gets)


def _digest(calls: object) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(calls).encode())[:_SHORT]
