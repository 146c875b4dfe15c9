"""TensorBoard: scalars over env-steps and rounds. Needs the optional `tensorboard` package."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from esper.leyline import telemetry
from esper.leyline.errors import InputError
from esper.leyline.telemetry import TelemetryEvent

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter


class TensorBoardOutput:
    """Writes event files for TensorBoard into a folder.

    The step of an env's scalars counts its epochs over all rounds; that of a round's is the round. Raises
    InputError if TensorBoard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            raise InputError(
                "TensorBoard is not installed; pip install tensorboard, or leave that output out"
            ) from None
        self._make = lambda: SummaryWriter(str(folder))
        self._writer: SummaryWriter | None = None
        self._episode_length = 0

    def emit(self, event: TelemetryEvent) -> None:
        """Write the scalars of one event, if it has any."""
        if isinstance(event.data, telemetry.RunStarted):
            self._episode_length = event.data.episode_length
        for tag, value, step in scalars(event, self._episode_length):
            if self._writer is None:
                self._writer = self._make()
            self._writer.add_scalar(tag, value, step)

    def close(self) -> None:
        """Write out what is buffered."""
        if self._writer is not None:
            self._writer.close()


def scalars(event: TelemetryEvent, episode_length: int) -> Iterator[tuple[str, float, int]]:
    """Tag, value and step of every finite number of an event that is worth a curve."""
    for tag, value in _named(event):
        if math.isfinite(value):
            round_idx = event.round or 0
            if event.env is None:
                yield tag, value, round_idx
            else:
                yield f"env{event.env}/{tag}", value, round_idx * episode_length + (event.epoch or 0)


def _named(event: TelemetryEvent) -> Iterator[tuple[str, float]]:
    match event.data:
        case telemetry.EpochCompleted() as data:
            for name in ("train_loss", "train_accuracy", "val_loss", "val_accuracy"):
                yield name, getattr(data, name)
            yield "parameters", float(data.total_params)
        case telemetry.LastAction() as data:
            yield "reward", data.reward
            yield "value", data.value
        case telemetry.CounterfactualComputed() as data:
            for slot, value in data.contributions.items():
                yield f"contribution/{slot}", value
        case telemetry.ShapleyComputed() as data:
            for slot, value in data.values.items():
                yield f"shapley/{slot}", value
        case telemetry.PPOUpdateCompleted() as data:
            for name, value in data.metrics.items():
                yield f"policy/{name}", value
            yield "policy/entropy_coef", data.entropy_coef
        case telemetry.RewardSummary() as data:
            yield "reward/mean", data.mean
            for name, value in data.components.items():
                yield f"reward/{name}", value
        case telemetry.BatchCompleted() as data:
            yield "round/mean_accuracy", data.mean_accuracy
            yield "round/mean_return", data.mean_return
        case telemetry.Throughput() as data:
            yield "speed/env_steps_per_s", data.env_steps_per_s
            for name, seconds in data.phase_s.items():
                yield f"speed/seconds/{name}", seconds
        case _:
            return
