"""Which reward, and how much its parts weigh."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from esper.leyline import DEFAULT_MIN_FOSSILIZE_CONTRIBUTION


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
