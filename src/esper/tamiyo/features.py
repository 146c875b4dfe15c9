"""Features of the policy: the history of a host, and observations as numbers of about unit size."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from esper.leyline import (
    BLUEPRINT_NAMES,
    HISTORY_LENGTH,
    AlphaMode,
    BlendMode,
    SeedStage,
    SeedStateReport,
    SlotConfig,
    TrainingSignals,
)


class SignalTracker:
    """One environment's losses and accuracies (fractions) over an episode."""

    def __init__(self, max_epochs: int, *, min_improvement: float = 1e-3) -> None:
        self._max_epochs = max_epochs
        self._min_improvement = min_improvement
        self._losses: deque[float] = deque(maxlen=HISTORY_LENGTH)
        self._accuracies: deque[float] = deque(maxlen=HISTORY_LENGTH)
        self._best_accuracy = 0.0
        self._epochs_since_improvement = 0
        self._last: TrainingSignals | None = None

    def peek(self) -> TrainingSignals:
        """The signals of the last epoch; RuntimeError before the first."""
        if self._last is None:
            raise RuntimeError("no epoch has been recorded yet")
        return self._last

    def update(
        self, *, epoch: int, train_loss: float, train_accuracy: float, val_loss: float, val_accuracy: float
    ) -> TrainingSignals:
        """Record an epoch and return its signals; deltas are against the epoch before, 0 at the first."""
        loss_delta = val_loss - self._losses[-1] if self._losses else 0.0
        accuracy_delta = val_accuracy - self._accuracies[-1] if self._accuracies else 0.0
        if val_accuracy > self._best_accuracy + self._min_improvement:
            self._epochs_since_improvement = 0
        else:
            self._epochs_since_improvement += 1
        self._best_accuracy = max(self._best_accuracy, val_accuracy)
        self._losses.append(val_loss)
        self._accuracies.append(val_accuracy)
        self._last = TrainingSignals(
            epoch=epoch,
            max_epochs=self._max_epochs,
            train_loss=train_loss,
            train_accuracy=train_accuracy,
            val_loss=val_loss,
            val_accuracy=val_accuracy,
            loss_delta=loss_delta,
            accuracy_delta=accuracy_delta,
            best_val_accuracy=self._best_accuracy,
            epochs_since_improvement=self._epochs_since_improvement,
            loss_history=tuple(self._losses),
            accuracy_history=tuple(self._accuracies),
        )
        return self._last


MAX_LOSS = 10.0
AGE_SCALE = 10.0
ACCURACY_SCALE = 10.0
"""Differences of accuracy are small fractions; times ten they are of the size of the rest."""

_MODE_SIGN: Mapping[AlphaMode, float] = {AlphaMode.HOLD: 0.0, AlphaMode.UP: 1.0, AlphaMode.DOWN: -1.0}

BASE_FEATURES = 11 + 2 * HISTORY_LENGTH
SLOT_FEATURES = len(SeedStage) + len(BlendMode) + len(BLUEPRINT_NAMES) + 14


def feature_size(slot_config: SlotConfig) -> int:
    """Length of one environment's observation."""
    return BASE_FEATURES + slot_config.num_slots * SLOT_FEATURES


def batch_obs_to_features(
    signals: Sequence[TrainingSignals],
    reports: Sequence[Mapping[str, SeedStateReport]],
    slot_config: SlotConfig,
    *,
    host_params: int,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Observations [environments, features], float32, built on the host and moved in one transfer."""
    rows = [
        _observation(env_signals, env_reports, slot_config, host_params)
        for env_signals, env_reports in zip(signals, reports, strict=True)
    ]
    return torch.tensor(rows, dtype=torch.float32).to(device)


def _observation(
    signals: TrainingSignals,
    reports: Mapping[str, SeedStateReport],
    slot_config: SlotConfig,
    host_params: int,
) -> list[float]:
    row = _base(signals, reports, slot_config, host_params)
    for slot_id in slot_config.slot_ids:
        row += _slot(reports.get(slot_id), signals, host_params)
    return row


def _base(
    signals: TrainingSignals,
    reports: Mapping[str, SeedStateReport],
    slot_config: SlotConfig,
    host_params: int,
) -> list[float]:
    seed_params = sum(report.seed_parameters for report in reports.values())
    return [
        signals.epoch / signals.max_epochs,
        _loss(signals.train_loss),
        _loss(signals.val_loss),
        _loss(signals.loss_delta),
        signals.train_accuracy,
        signals.val_accuracy,
        signals.accuracy_delta * ACCURACY_SCALE,
        signals.best_val_accuracy,
        signals.epochs_since_improvement / AGE_SCALE,
        len(reports) / slot_config.num_slots,
        math.log1p(seed_params / host_params),
        *(_loss(loss) for loss in _padded(signals.loss_history)),
        *_padded(signals.accuracy_history),
    ]


def _slot(report: SeedStateReport | None, signals: TrainingSignals, host_params: int) -> list[float]:
    if report is None:
        return _one_hot(SeedStage.DORMANT, len(SeedStage)) + [0.0] * (SLOT_FEATURES - len(SeedStage))
    contribution = report.contribution or 0.0
    before = report.previous_contribution
    return [
        *_one_hot(report.stage, len(SeedStage)),
        *_one_hot(report.blend_mode, len(BlendMode)),
        *_one_hot(BLUEPRINT_NAMES.index(report.blueprint), len(BLUEPRINT_NAMES)),
        report.alpha,
        report.alpha_target,
        _MODE_SIGN[report.alpha_mode],
        report.alpha_steps_done / max(1, report.alpha_steps_total),
        report.epochs_in_stage / AGE_SCALE,
        report.epochs_total / signals.max_epochs,
        report.tempo_epochs / AGE_SCALE,
        math.log1p(report.seed_parameters / host_params),
        float(report.contribution is not None),
        contribution * ACCURACY_SCALE,
        (contribution - before) * ACCURACY_SCALE if before is not None else 0.0,
        report.contribution_age / AGE_SCALE,
        (signals.val_accuracy - report.accuracy_at_germination) * ACCURACY_SCALE,
        float(report.leaving),
    ]


def _one_hot(index: int, size: int) -> list[float]:
    return [float(position == index) for position in range(size)]


def _padded(history: Sequence[float]) -> list[float]:
    return [history[0]] * (HISTORY_LENGTH - len(history)) + list(history)


def _loss(value: float) -> float:
    # A diverged host must still be seen as a number, the largest one.
    if math.isnan(value):
        return 1.0
    return max(-MAX_LOSS, min(MAX_LOSS, value)) / MAX_LOSS
