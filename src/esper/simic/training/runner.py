"""Update the policy on a round, and time it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from torch import Tensor

from esper.simic.agent import PPOAgent, PPOUpdateResult, RolloutBuffer
from esper.simic.control import RewardNormalizer
from esper.simic.training.action_execution import ObservationSpace
from esper.simic.training.round_state import ActionExecutionResult, RoundState
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


@dataclass(frozen=True, slots=True)
class PolicyUpdate:
    """Result of an update, with its seconds on the device and those of everything around it."""

    result: PPOUpdateResult
    seconds: float
    phase_s: float


def update_policy(
    round_state: RoundState,
    last: ActionExecutionResult,
    *,
    agent: PPOAgent,
    space: ObservationSpace,
    reward_normalizer: RewardNormalizer,
) -> PolicyUpdate:
    """Learn from the round, and take its rewards into the statistics.

    The states after the last actions count where the time limit cut an episode off, and not where its end
    was paid for.
    """
    started = time.perf_counter()
    features = space.features(last.post_action_signals, last.post_action_slot_reports)
    bootstrap_values = agent.bootstrap_values(features, round_state.hidden)
    result, seconds = run_ppo_updates(
        agent,
        round_state.buffer,
        bootstrap_values,
        entropy_coef=round_state.entropy_coef,
        timer=CUDATimer(space.device),
    )
    reward_normalizer.update(round_state.rewards)
    return PolicyUpdate(result, seconds, time.perf_counter() - started)
