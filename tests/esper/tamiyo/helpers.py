"""Reports and signals to decide on."""

from typing import Any

from esper.leyline import AlphaCurve, AlphaMode, BlendMode, SeedStage, SeedStateReport, TrainingSignals
from esper.tamiyo import SignalTracker


def report(slot_id: str = "r0c1", stage: SeedStage = SeedStage.HOLDING, **changes: Any) -> SeedStateReport:
    """A seed in the middle of its life."""
    values: dict[str, Any] = {
        "slot_id": slot_id,
        "seed_id": f"{slot_id}-1",
        "blueprint": "conv_light",
        "stage": stage,
        "previous_stage": SeedStage.TRAINING,
        "epochs_in_stage": 2,
        "epochs_total": 6,
        "alpha": 1.0,
        "alpha_target": 1.0,
        "alpha_mode": AlphaMode.HOLD,
        "alpha_curve": AlphaCurve.LINEAR,
        "alpha_steepness": 12.0,
        "alpha_steps_done": 3,
        "alpha_steps_total": 3,
        "blend_mode": BlendMode.ADD,
        "tempo_epochs": 3,
        "seed_parameters": 100,
        "contribution": 0.03,
        "previous_contribution": 0.01,
        "contribution_age": 0,
        "accuracy_at_germination": 0.3,
        "leaving": False,
        "prune_reason": None,
    }
    return SeedStateReport(**values | changes)


def signals(
    *accuracies: float, losses: tuple[float, ...] | None = None, max_epochs: int = 10
) -> TrainingSignals:
    """What a tracker says after these epochs."""
    tracker = SignalTracker(max_epochs)
    for epoch, accuracy in enumerate(accuracies, start=1):
        loss = losses[epoch - 1] if losses else 2.0 - accuracy
        tracker.update(
            epoch=epoch, train_loss=loss, train_accuracy=accuracy, val_loss=loss, val_accuracy=accuracy
        )
    return tracker.peek()
