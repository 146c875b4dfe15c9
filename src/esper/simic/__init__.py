"""Reinforcement learning: rewards, the PPO agent, its rollout buffer and the training loop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from esper.simic.parallel_env_state import ParallelEnvState
    from esper.simic.seed_management import (
        advance_active_seed,
        aggregate_ppo_metrics,
        calculate_entropy_anneal_steps,
        resolve_target_slot,
        run_ppo_updates,
    )
    from esper.simic.training.vectorized import train_ppo_vectorized

__all__ = [
    "ParallelEnvState",
    "advance_active_seed",
    "aggregate_ppo_metrics",
    "calculate_entropy_anneal_steps",
    "resolve_target_slot",
    "run_ppo_updates",
    "train_ppo_vectorized",
]

_HOMES = {
    **dict.fromkeys(__all__, "esper.simic.seed_management"),
    "ParallelEnvState": "esper.simic.parallel_env_state",
    "train_ppo_vectorized": "esper.simic.training.vectorized",
}


def __getattr__(name: str) -> Any:
    """Import where a name lives when it is first asked for: the settings below here must load no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
