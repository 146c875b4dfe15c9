"""Keeps the history of one environment's training and sums it up after every epoch."""

from __future__ import annotations

from collections import deque

from esper.leyline import HISTORY_LENGTH, TrainingSignals


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
