"""Whether a host still gets better."""

from __future__ import annotations

from esper.leyline import TrainingSignals
from esper.leyline.telemetry import ImprovementDetected, PlateauDetected

PLATEAU_EPOCHS = 5
"""Epochs without a better accuracy that make a plateau."""


def detect_progress(
    before: TrainingSignals | None, now: TrainingSignals, plateau_epochs: int = PLATEAU_EPOCHS
) -> PlateauDetected | ImprovementDetected | None:
    """What the last epoch of one env changed: a plateau was reached, or one ended. `before` is the epoch
    before it, None at the first.
    """
    waited = 0 if before is None else before.epochs_since_improvement
    if now.epochs_since_improvement == plateau_epochs > waited:
        return PlateauDetected(best_accuracy=now.best_val_accuracy, epochs=plateau_epochs)
    if before is not None and now.epochs_since_improvement == 0 and waited >= plateau_epochs:
        return ImprovementDetected(
            best_accuracy=now.best_val_accuracy,
            gain=now.best_val_accuracy - before.best_val_accuracy,
            plateau_epochs=waited,
        )
    return None
