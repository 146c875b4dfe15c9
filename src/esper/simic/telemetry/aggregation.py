"""Means and sums over the envs of a round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from esper.simic.training.parallel_env_state import ParallelEnvState


def aggregate_ticker_metrics(env_states: Sequence[ParallelEnvState]) -> dict[str, float]:
    """Means and sums over the envs of a round: what a one-line display of the round needs."""
    return {
        "mean_accuracy": statistics.fmean(env_state.val_accuracy for env_state in env_states),
        "best_accuracy": max(env_state.best_accuracy for env_state in env_states),
        "mean_return": statistics.fmean(math.fsum(env_state.rewards) for env_state in env_states),
        "env_steps": sum(len(env_state.rewards) for env_state in env_states),
        "germinated": sum(env_state.model.germinated for env_state in env_states),
        "fossilized": sum(env_state.model.fossilized for env_state in env_states),
        "pruned": sum(env_state.model.pruned for env_state in env_states),
        "rollbacks": sum(env_state.rollbacks for env_state in env_states),
    }
