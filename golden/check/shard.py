"""Split a suite over machines by how long its runs take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from golden.check.fixtures import FOLDER, write_whole
from golden.record import Run
from golden.trace.errors import UnusableInput

DURATIONS = "durations.json"


def parse_shard(text: str) -> tuple[int, int]:
    """Return the two numbers of ``I/N``, I from 1 to N."""
    first, _, last = text.partition("/")
    try:
        index, count = int(first), int(last)
    except ValueError:
        index, count = 0, 0
    if not 1 <= index <= count:
        raise UnusableInput(f"shard {text}: give I/N with I from 1 to N, such as 2/3")
    return index, count


def shard(runs: Sequence[Run], index: int, count: int, durations: Mapping[str, float]) -> list[Run]:
    """Return the runs of one of ``count`` shards: the longest first, each to the shard with the least to do.

    A run that was never measured counts with its budget. Every run is in exactly one shard.
    """
    loads = [0.0] * count
    mine = set()
    for run in sorted(runs, key=lambda r: (-durations.get(r.name, r.budget), r.name)):
        lightest = loads.index(min(loads))
        loads[lightest] += durations.get(run.name, run.budget)
        if lightest == index - 1:
            mine.add(run.name)
    return [run for run in runs if run.name in mine]


def read_durations(root: Path) -> dict[str, float]:
    """Return measured seconds by run; empty if none were kept, or what was kept is unreadable."""
    try:
        table = json.loads((root / FOLDER / DURATIONS).read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in table.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def keep_durations(root: Path, measured: Mapping[str, float]) -> None:
    """Remember how long runs took, in whole seconds: they serve to balance shards, no more."""
    table = {**read_durations(root), **{name: float(round(s) or 1) for name, s in measured.items()}}
    write_whole(root / FOLDER / DURATIONS, json.dumps(dict(sorted(table.items())), indent=1) + "\n")
