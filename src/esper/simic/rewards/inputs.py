"""What rewards are computed from: settings, and the state of an env before and after an action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from esper.leyline import (
    DEFAULT_MIN_FOSSILIZE_CONTRIBUTION,
    LIVE_STAGES,
    LifecycleOp,
    SeedStage,
    SeedStateReport,
    TrainingSignals,
)


class RewardFamily(StrEnum):
    """What counts as success: accuracy that seeds contribute, or loss that falls."""

    CONTRIBUTION = "contribution"
    LOSS = "loss"


class RewardMode(StrEnum):
    """Which parts of the contribution reward there are, from all to hardly any."""

    SHAPED = "shaped"
    ESCROW = "escrow"
    SIMPLIFIED = "simplified"
    BASIC = "basic"
    MINIMAL = "minimal"
    SPARSE = "sparse"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfig:
    """Weights per unit of each part: accuracies and contributions are fractions, losses nats."""

    family: RewardFamily = RewardFamily.CONTRIBUTION
    mode: RewardMode = RewardMode.SHAPED
    contribution_weight: float = 10.0
    progress_weight: float = 10.0
    terminal_weight: float = 5.0
    potential_weight: float = 0.1
    rent_weight: float = 0.05
    shock_weight: float = 0.1
    op_cost: float = 0.01
    failure_cost: float = 0.05
    fossilize_weight: float = 20.0
    prune_weight: float = 5.0
    escrow_weight: float = 50.0
    scaffold_weight: float = 10.0
    scaffold_discount: float = 0.9
    max_scaffold_credit: float = 0.5
    min_fossilize_contribution: float = DEFAULT_MIN_FOSSILIZE_CONTRIBUTION
    loss_weight: float = 1.0
    max_loss_delta: float = 2.0

    @property
    def pays_at_end(self) -> bool:
        """Whether the last step of an episode is paid for what was reached: then the episode is over, and
        no value of a state after it may be added to that.
        """
        return self.family is RewardFamily.CONTRIBUTION and self.mode is not RewardMode.BASIC

    @property
    def pays_scaffolds(self) -> bool:
        """Whether credit in hindsight is a part of this reward."""
        shaping = (RewardMode.SHAPED, RewardMode.ESCROW)
        return self.family is RewardFamily.CONTRIBUTION and self.mode in shaping


@dataclass(frozen=True, slots=True)
class RentAndShock:
    """Parameters that a host carries besides its own, and the sum of alphas' squared jumps."""

    effective_seed_params: float
    alpha_shock: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardInputs:
    """One env-step: the decision, the slots before and after it, and how training goes.

    `escrow` is what was advanced for each seed until now, by its name; `scaffold_credit` the credit for
    seeds that helped one which became permanent in this step.
    """

    op: LifecycleOp
    success: bool
    slot_id: str | None
    before: Mapping[str, SeedStateReport]
    after: Mapping[str, SeedStateReport]
    signals: TrainingSignals
    host_params: int
    rent: RentAndShock
    escrow: Mapping[str, float] = field(default_factory=dict)
    scaffold_credit: float = 0.0

    @property
    def target(self) -> SeedStateReport | None:
        """The chosen slot as it was at the decision; None where it was dormant or none was chosen."""
        return None if self.slot_id is None else self.before.get(self.slot_id)

    @property
    def is_last(self) -> bool:
        """Whether the episode ends with this step."""
        return self.signals.epoch >= self.signals.max_epochs


@dataclass(frozen=True, slots=True)
class RewardBreakdown:
    """A reward and the parts that sum to it; `escrow` is what is advanced for each seed from now on."""

    total: float
    components: Mapping[str, float]
    escrow: Mapping[str, float] = field(default_factory=dict)


def summed(components: Mapping[str, float], escrow: Mapping[str, float] | None = None) -> RewardBreakdown:
    """The parts with their sum."""
    return RewardBreakdown(math.fsum(components.values()), components, escrow or {})


def compute_rent_and_shock_inputs(
    reports: Mapping[str, SeedStateReport], previous_alphas: Mapping[str, float]
) -> RentAndShock:
    """Size of the live seeds, and how far alphas jumped since `previous_alphas` (missing slots were at 0)."""
    live = {slot_id: report for slot_id, report in reports.items() if report.stage in LIVE_STAGES}
    slots = [*live, *(slot_id for slot_id in previous_alphas if slot_id not in live)]
    jumps = ((live[slot].alpha if slot in live else 0.0) - previous_alphas.get(slot, 0.0) for slot in slots)
    return RentAndShock(
        effective_seed_params=float(sum(report.seed_parameters for report in live.values())),
        alpha_shock=math.fsum(jump * jump for jump in jumps),
    )


def rent(inputs: RewardInputs, config: RewardConfig) -> float:
    """Cost of size, growing with the logarithm of total to host parameters."""
    return -config.rent_weight * math.log1p(inputs.rent.effective_seed_params / inputs.host_params)


def shock(inputs: RewardInputs, config: RewardConfig) -> float:
    """Cost of alpha's jumps."""
    return -config.shock_weight * inputs.rent.alpha_shock


def op_cost(inputs: RewardInputs, config: RewardConfig) -> float:
    """Cost of doing anything, more if it failed."""
    if inputs.op is LifecycleOp.WAIT:
        return 0.0
    return -(config.op_cost if inputs.success else config.failure_cost)


_POTENTIALS: Mapping[SeedStage, float] = {
    SeedStage.GERMINATED: 1.0,
    SeedStage.TRAINING: 1.0,
    SeedStage.BLENDING: 2.0,
    SeedStage.HOLDING: 2.0,
    SeedStage.FOSSILIZED: 3.0,
}


def potential_change(inputs: RewardInputs, config: RewardConfig) -> float:
    """Change by the decision of how far along the seeds are; going and coming back earns nothing.

    Potential-based shaping (Ng, Harada, Russell, 1999). Stages that a seed enters by itself have the
    potential of the stage before, so the changes by decisions alone telescope.
    """
    gain = _potential(inputs.after) - _potential(inputs.before)
    return config.potential_weight * gain


def _potential(reports: Mapping[str, SeedStateReport]) -> float:
    return math.fsum(_POTENTIALS.get(report.stage, 0.0) for report in reports.values())
