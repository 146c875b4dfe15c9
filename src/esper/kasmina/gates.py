"""The checks a seed must pass before it moves on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from esper.kasmina.seed import SeedState
from esper.leyline import (
    DEFAULT_MIN_FOSSILIZE_CONTRIBUTION,
    DEFAULT_MIN_TRAINING_EPOCHS,
    SeedStage,
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


@dataclass(frozen=True, slots=True)
class GateResult:
    """`score` is the share of checks that held; `failed` names the others."""

    gate: str
    passed: bool
    score: float
    failed: tuple[str, ...]


def evaluate_gate(state: SeedState, target: SeedStage, config: GateConfig) -> GateResult:
    """Ask the gate before `target`; ValueError for a stage that has none."""
    if target not in GATE_NAMES:
        raise ValueError(f"no gate leads to {target.name}")
    checks = _checks(state, target, config.strict)
    failed = tuple(name for name, held in checks.items() if not held)
    return GateResult(GATE_NAMES[target], not failed, 1.0 - len(failed) / len(checks), failed)


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
