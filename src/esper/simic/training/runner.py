"""Update the policy on a rollout, and time it."""

from __future__ import annotations

from torch import Tensor

from esper.simic.agent import PPOAgent, PPOUpdateResult, RolloutBuffer
from esper.tolaria.runtime import CUDATimer


def run_ppo_updates(
    agent: PPOAgent,
    buffer: RolloutBuffer,
    bootstrap_values: Tensor,
    *,
    entropy_coef: float,
    timer: CUDATimer,
) -> tuple[PPOUpdateResult, float]:
    """Update the policy from a rollout; what came of it, and the seconds it took."""
    timer.start()
    update = agent.update(buffer, bootstrap_values, entropy_coef=entropy_coef)
    timer.stop()
    return update, timer.elapsed()
