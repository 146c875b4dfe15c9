"""What a decision was worth: reward families and modes, and the inputs they share."""

from esper.simic.rewards.config import RewardConfig, RewardFamily, RewardMode
from esper.simic.rewards.contribution import compute_reward
from esper.simic.rewards.inputs import (
    RentAndShock,
    RewardBreakdown,
    RewardInputs,
    compute_rent_and_shock_inputs,
)
from esper.simic.rewards.loss import compute_loss_reward

__all__ = [
    "RentAndShock",
    "RewardBreakdown",
    "RewardConfig",
    "RewardFamily",
    "RewardInputs",
    "RewardMode",
    "compute_loss_reward",
    "compute_rent_and_shock_inputs",
    "compute_reward",
]
