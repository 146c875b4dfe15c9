"""What runs leave behind, as far as it repeats: events and checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from esper.leyline.telemetry import all_unstable_paths


def stable(record: dict[str, Any]) -> dict[str, Any]:
    """An event of a file without what cannot repeat."""
    for path in all_unstable_paths():
        *above, name = path.split(".")
        (record[above[0]] if above else record).pop(name, None)
    return record


def events(folder: Path) -> list[Any]:
    """The events of a run."""
    return [stable(json.loads(line)) for line in (folder / "events.jsonl").read_text().splitlines()]


def checkpoint(path: Path) -> Any:
    """The content of a checkpoint."""
    return torch.load(path, weights_only=True)


def same(one: Any, other: Any) -> bool:
    """Whether two checkpoints hold the same bits."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
