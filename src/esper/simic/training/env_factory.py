"""Make what the agent's side keeps of a round and of its envs.

`make_telemetry_callback` and `configure_slot_telemetry` are the engine's, from `tolaria.setup`; those
that emit at once, with a run's reporter, are in the tree that the plans derive.
"""

from __future__ import annotations

import time

from esper.leyline.telemetry import RoundStarted
from esper.simic.agent import PPOAgent, RolloutBuffer
from esper.simic.training.action_execution import ObservationSpace
from esper.simic.training.config import TrainingConfig
from esper.simic.training.reporter import calculate_entropy_anneal_steps
from esper.simic.training.round_state import ParallelEnvState, RoundState
from esper.tolaria.runtime import derive_generator, derive_seed
from esper.tolaria.setup import configure_slot_telemetry as configure_slot_telemetry
from esper.tolaria.setup import make_telemetry_callback as make_telemetry_callback


def create_env_state(env_idx: int, round_idx: int, *, seed: int) -> ParallelEnvState:
    """An env at its beginning; a function of the seed, the round and the env's index."""
    return ParallelEnvState(
        env_idx=env_idx,
        round_idx=round_idx,
        action_generator=derive_generator(seed, round_idx, env_idx, "action"),
    )


def announce_round(round_idx: int, config: TrainingConfig) -> RoundStarted:
    """Emit the events before a round: the seeds of its envs, and the entropy bonus of its update."""
    steps = calculate_entropy_anneal_steps(config.entropy_anneal_episodes, config.envs)
    annealed = min(1.0, round_idx / steps) if steps > 0 else 0.0
    entropy_coef = config.entropy_start + annealed * (config.entropy_end - config.entropy_start)
    env_seeds = tuple(derive_seed(config.seed, round_idx, env_idx) for env_idx in range(config.envs))
    return RoundStarted(env_seeds=env_seeds, entropy_coef=entropy_coef)


def create_round_state(
    round_idx: int,
    config: TrainingConfig,
    *,
    entropy_coef: float,
    space: ObservationSpace,
    agent: PPOAgent | None,
) -> RoundState:
    """A round of whose envs nothing is known yet."""
    envs = range(config.envs)
    return RoundState(
        round_idx=round_idx,
        entropy_coef=entropy_coef,
        env_states=[create_env_state(env_idx, round_idx, seed=config.seed) for env_idx in envs],
        buffer=RolloutBuffer(config.envs, config.episode_length, space.slot_config, space.device),
        hidden=None if agent is None else agent.initial_hidden(config.envs),
        started=time.perf_counter(),
    )
