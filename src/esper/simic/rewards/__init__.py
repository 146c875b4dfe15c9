"""What a decision was worth: reward families and modes, and the inputs they share."""

from esper.simic.rewards.contribution import compute_loss_reward, compute_reward
from esper.simic.rewards.inputs import (
    RentAndShock,
    RewardBreakdown,
    RewardConfig,
    RewardFamily,
    RewardInputs,
    RewardMode,
    compute_rent_and_shock_inputs,
)
from esper.simic.rewards.scaffold import (
    ScaffoldCredit,
    ScaffoldLedger,
    compute_scaffold_hindsight_credit,
)

__all__ = [
    "RentAndShock",
    "RewardBreakdown",
    "RewardConfig",
    "RewardFamily",
    "RewardInputs",
    "RewardMode",
    "ScaffoldCredit",
    "ScaffoldLedger",
    "compute_loss_reward",
    "compute_rent_and_shock_inputs",
    "compute_reward",
    "compute_scaffold_hindsight_credit",
]
