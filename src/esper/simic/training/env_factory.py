"""Make what the agent's side keeps of a round and of its envs."""

from __future__ import annotations

import time

from esper.leyline.telemetry import RoundStarted, TelemetryEvent
from esper.simic.agent import PPOAgent, RolloutBuffer
from esper.simic.training.helpers import calculate_entropy_anneal_steps
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import RoundState, RunSetup
from esper.tolaria.seeding import derive_generator, derive_seed


def create_env_state(env_idx: int, round_idx: int, *, setup: RunSetup) -> ParallelEnvState:
    """An env at its beginning; a function of the seed, the round and the env's index."""
    return ParallelEnvState(
        env_idx=env_idx,
        round_idx=round_idx,
        action_generator=derive_generator(setup.config.seed, round_idx, env_idx, "action"),
    )


def begin_round(round_idx: int, *, setup: RunSetup, agent: PPOAgent | None) -> RoundState:
    """Announce a round, with the entropy bonus of its update; nothing is known of its envs yet."""
    started = time.perf_counter()
    config = setup.config
    steps = calculate_entropy_anneal_steps(config.entropy_anneal_episodes, config.envs)
    annealed = min(1.0, round_idx / steps) if steps > 0 else 0.0
    entropy_coef = config.entropy_start + annealed * (config.entropy_end - config.entropy_start)
    env_seeds = tuple(derive_seed(config.seed, round_idx, env_idx) for env_idx in range(config.envs))
    setup.reporter.hub.emit(
        TelemetryEvent(data=RoundStarted(env_seeds=env_seeds, entropy_coef=entropy_coef), round=round_idx)
    )
    return RoundState(
        round_idx=round_idx,
        entropy_coef=entropy_coef,
        env_states=[create_env_state(env_idx, round_idx, setup=setup) for env_idx in range(config.envs)],
        buffer=RolloutBuffer(
            config.envs,
            config.episode_length,
            setup.subject.slot_config,
            setup.placement.policy_device,
        ),
        hidden=None if agent is None else agent.initial_hidden(config.envs),
        started=started,
    )
