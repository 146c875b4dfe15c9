"""The loss family: what counts is that validation loss falls."""

from __future__ import annotations

import math

from esper.simic.rewards.config import RewardConfig
from esper.simic.rewards.inputs import RewardBreakdown, RewardInputs, op_cost, rent, shock, summed


def compute_loss_reward(inputs: RewardInputs, config: RewardConfig) -> RewardBreakdown:
    """The reward of one env-step from the change of validation loss (nats per sample), clipped."""
    limit = config.max_loss_delta
    delta = inputs.signals.loss_delta
    # A loss that is no number is the worst change there is.
    fallen = -limit if math.isnan(delta) else max(-limit, min(limit, -delta))
    return summed(
        {
            "loss": config.loss_weight * fallen,
            "rent": rent(inputs, config),
            "alpha_shock": shock(inputs, config),
            "op_cost": op_cost(inputs, config),
        }
    )
