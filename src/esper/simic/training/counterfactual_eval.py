"""The comparisons of an epoch: which configurations validation runs, and how much each seed adds.

`process_fused_val_batch`, which validates them in one pass, is the engine's, from `tolaria.hosts`.
"""

from __future__ import annotations

from collections.abc import Sequence

from esper.leyline.rollout import Configuration
from esper.simic.attribution import Comparison
from esper.simic.training.round_state import ParallelEnvState
from esper.tolaria.hosts import process_fused_val_batch as process_fused_val_batch
from esper.tolaria.runtime import derive_generator


def choose_configurations(
    env_state: ParallelEnvState, contributing_slots: Sequence[str], *, seed: int, at_end: bool
) -> Sequence[Configuration]:
    """Which seeds to switch off; in the last epoch of an episode as many as its Shapley values take."""
    if not at_end:
        env_state.comparison = Comparison.of_epoch(contributing_slots)
    else:
        generator = derive_generator(seed, env_state.round_idx, env_state.env_idx, "attribution")
        env_state.comparison = Comparison.of_last_epoch(contributing_slots, generator)
    return env_state.comparison.overrides


def measure_contributions(env_state: ParallelEnvState, accuracies: Sequence[float]) -> dict[str, float]:
    """Take in what validation said of the seeds that take part; what each of them adds."""
    comparison = env_state.comparison
    env_state.matrix = comparison.matrix(accuracies) if comparison.slots else None
    return {} if env_state.matrix is None else env_state.matrix.contributions()
