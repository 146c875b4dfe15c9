"""The record of one seed's life; its counters live here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

from esper.kasmina.schedule import AlphaSchedule
from esper.leyline import BlendMode, SeedStage, SeedStateReport


@dataclass(frozen=True, slots=True)
class PendingPrune:
    """A prune that waits for alpha to reach zero."""

    reason: str
    initiator: str


@dataclass(slots=True, kw_only=True)
class SeedState:
    """What a slot knows about its seed. Accuracies and contributions are fractions."""

    slot_id: str
    seed_id: str
    blueprint: str
    blend_mode: BlendMode
    schedule: AlphaSchedule
    tempo_epochs: int
    seed_parameters: int
    accuracy_at_germination: float
    accuracy: float
    stage: SeedStage = SeedStage.GERMINATED
    previous_stage: SeedStage = SeedStage.DORMANT
    epochs_in_stage: int = 0
    epochs_total: int = 0
    moved: bool = True
    """Whether the stage changed in this env-step; it changes once at most."""
    contribution: float | None = None
    previous_contribution: float | None = None
    contribution_age: int = 0
    pending_prune: PendingPrune | None = None
    prune_reason: str | None = None

    @property
    def alpha(self) -> float:
        """The share of the seed's change that reaches the host's output."""
        if self.stage in (SeedStage.BLENDING, SeedStage.HOLDING, SeedStage.FOSSILIZED):
            return self.schedule.alpha
        return 0.0

    def record_epoch(self, accuracy: float, contribution: float | None) -> None:
        """Count one trained and validated epoch."""
        self.epochs_in_stage += 1
        self.epochs_total += 1
        self.accuracy = accuracy
        self.contribution_age += 1
        if contribution is not None:
            self.previous_contribution = self.contribution
            self.contribution = contribution
            self.contribution_age = 0

    def report(self) -> SeedStateReport:
        """A frozen copy for the decision-maker."""
        return SeedStateReport(
            slot_id=self.slot_id,
            seed_id=self.seed_id,
            blueprint=self.blueprint,
            stage=self.stage,
            previous_stage=self.previous_stage,
            epochs_in_stage=self.epochs_in_stage,
            epochs_total=self.epochs_total,
            alpha=self.alpha,
            alpha_target=self.schedule.target,
            alpha_mode=self.schedule.mode,
            alpha_curve=self.schedule.curve,
            alpha_steepness=self.schedule.steepness,
            alpha_steps_done=self.schedule.steps_done,
            alpha_steps_total=self.schedule.steps_total,
            blend_mode=self.blend_mode,
            tempo_epochs=self.tempo_epochs,
            seed_parameters=self.seed_parameters,
            contribution=self.contribution,
            previous_contribution=self.previous_contribution,
            contribution_age=self.contribution_age,
            accuracy_at_germination=self.accuracy_at_germination,
            leaving=self.pending_prune is not None,
            prune_reason=self.prune_reason,
        )
