"""The state of a seed, and the gates that it passes from stage to stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from esper.kasmina.blending import AlphaSchedule
from esper.leyline import (
    DEFAULT_MIN_FOSSILIZE_CONTRIBUTION,
    DEFAULT_MIN_TRAINING_EPOCHS,
    BlendMode,
    SeedStage,
    SeedStateReport,
)
from esper.leyline.telemetry import SeedGateEvaluated


@dataclass(frozen=True, slots=True)
class PendingPrune:
    """A prune that waits for alpha to reach zero."""

    reason: str
    initiator: str


@dataclass(slots=True, kw_only=True)
class SeedState:
    """State of a seed in its slot. Accuracies and contributions are fractions."""

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


GATE_NAMES: Mapping[SeedStage, str] = {
    SeedStage.TRAINING: "G1",
    SeedStage.BLENDING: "G2",
    SeedStage.HOLDING: "G3",
    SeedStage.FOSSILIZED: "G5",
}
"""Name of the gate before each stage."""

STRICT_TRAINING_EPOCHS = 3
STRICT_HOLDING_EPOCHS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """`strict` asks for evidence, not only time; `auto_forward`: the stages entered without being asked."""

    strict: bool = False
    auto_forward: frozenset[SeedStage] = frozenset({SeedStage.TRAINING, SeedStage.HOLDING})


AUTO_FORWARD: Mapping[str, frozenset[SeedStage]] = {
    "none": frozenset(),
    "timed": frozenset({SeedStage.TRAINING, SeedStage.HOLDING}),
    "all": frozenset({SeedStage.TRAINING, SeedStage.BLENDING, SeedStage.HOLDING}),
}
"""Stages that seeds enter by themselves once the gate lets them; "timed" are those that only time decides."""


def gate_config(gates: str, auto_forward: str) -> GateConfig:
    """The gates of a run's settings: "permissive" or "strict", and a key of `AUTO_FORWARD`."""
    return GateConfig(strict=gates == "strict", auto_forward=AUTO_FORWARD[auto_forward])


def evaluate_gate(state: SeedState, target: SeedStage, config: GateConfig) -> SeedGateEvaluated:
    """Ask the gate before `target`: `score` is the share of checks that held. ValueError for a stage that has
    none.
    """
    if target not in GATE_NAMES:
        raise ValueError(f"no gate leads to {target.name}")
    checks = _checks(state, target, config.strict)
    failed = tuple(name for name, held in checks.items() if not held)
    return SeedGateEvaluated(
        seed_id=state.seed_id,
        gate=GATE_NAMES[target],
        passed=not failed,
        score=1.0 - len(failed) / len(checks),
        failed=failed,
    )


def _checks(state: SeedState, target: SeedStage, strict: bool) -> dict[str, bool]:
    match target:
        case SeedStage.TRAINING:
            return {"age": state.epochs_total >= 1}
        case SeedStage.BLENDING:
            needed = STRICT_TRAINING_EPOCHS if strict else DEFAULT_MIN_TRAINING_EPOCHS
            checks = {"training_epochs": state.epochs_in_stage >= needed}
            if strict:
                checks["host_not_worse"] = state.accuracy >= state.accuracy_at_germination
            return checks
        case SeedStage.HOLDING:
            return {"alpha_at_target": state.schedule.done, "not_leaving": state.pending_prune is None}
        case _:
            checks = {
                "holding_epochs": state.epochs_in_stage >= (STRICT_HOLDING_EPOCHS if strict else 1),
                "contribution_known": state.contribution is not None,
            }
            if strict:
                floor = DEFAULT_MIN_FOSSILIZE_CONTRIBUTION
                checks["contribution"] = state.contribution is not None and state.contribution >= floor
            return checks
