"""What the decision-maker is told about a host and its slots after an epoch."""

from __future__ import annotations

from dataclasses import dataclass

from esper.leyline.slots import AlphaCurve, AlphaMode, BlendMode, SeedStage


@dataclass(frozen=True, slots=True)
class TrainingSignals:
    """One environment's training state after an epoch; accuracies are fractions, deltas per epoch."""

    epoch: int
    max_epochs: int
    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    loss_delta: float
    accuracy_delta: float
    best_val_accuracy: float
    epochs_since_improvement: int
    loss_history: tuple[float, ...]
    accuracy_history: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SeedStateReport:
    """One occupied or cooling slot; a dormant slot has no report.

    `contribution` is validation accuracy with the seed minus without it (fractions), None until measured;
    `contribution_age` counts epochs since that measurement. `leaving`: a prune waits for alpha to reach zero.
    """

    slot_id: str
    seed_id: str
    blueprint: str
    stage: SeedStage
    previous_stage: SeedStage
    epochs_in_stage: int
    epochs_total: int
    alpha: float
    alpha_target: float
    alpha_mode: AlphaMode
    alpha_curve: AlphaCurve
    alpha_steepness: float
    alpha_steps_done: int
    alpha_steps_total: int
    blend_mode: BlendMode
    tempo_epochs: int
    seed_parameters: int
    contribution: float | None
    previous_contribution: float | None
    contribution_age: int
    accuracy_at_germination: float
    leaving: bool
    prune_reason: str | None
