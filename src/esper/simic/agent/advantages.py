"""Generalised advantage estimation."""

from __future__ import annotations

import torch
from torch import Tensor


def advantages_and_returns(
    rewards: Tensor,
    values: Tensor,
    dones: Tensor,
    bootstrap_values: Tensor,
    *,
    discount: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns [environments, steps] (Schulman et al., 2015, arXiv:1506.02438).

    `dones` is 1 where an episode truly ended; one cut off goes on with `bootstrap_values` [environments].
    """
    advantages = torch.zeros_like(rewards)
    running = torch.zeros_like(bootstrap_values)
    next_values = bootstrap_values
    for step in reversed(range(rewards.shape[1])):
        goes_on = 1.0 - dones[:, step]
        error = rewards[:, step] + discount * next_values * goes_on - values[:, step]
        running = error + discount * gae_lambda * goes_on * running
        advantages[:, step] = running
        next_values = values[:, step]
    return advantages, advantages + values
