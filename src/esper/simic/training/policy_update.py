"""Learn from a round."""

from __future__ import annotations

import time
from dataclasses import dataclass

from esper.simic.agent import PPOAgent, PPOUpdateResult
from esper.simic.control import RewardNormalizer
from esper.simic.training.observation import ObservationSpace
from esper.simic.training.round_state import ActionExecutionResult, RoundState
from esper.simic.training.runner import run_ppo_updates
from esper.tolaria.runtime import CUDATimer


@dataclass(frozen=True, slots=True)
class PolicyUpdate:
    """What came of an update, the seconds it took on its device, and those with all around it."""

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
