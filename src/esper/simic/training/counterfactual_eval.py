"""What each slot adds: validate all configurations of an env's slots in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from esper.simic.attribution import Comparison, CounterfactualMatrix
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import RunSetup
from esper.tolaria.losses import count_correct, summed_loss
from esper.tolaria.runtime import on_stream
from esper.tolaria.seeding import derive_generator


def process_fused_val_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    torch_amp,
    setup: RunSetup,
) -> None:
    """Loss of an env's host as it is, and correct answers of all its configurations, in one pass."""
    configurations = env_state.comparison.overrides
    with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
        with torch_amp.autocast(
            env_state.device.type,
            dtype=setup.placement.amp_dtype,
            enabled=setup.placement.amp_dtype is not None,
        ):
            logits = env_state.model.fused_forward(inputs, configurations)
        loss = summed_loss(logits[0], targets)
        correct = count_correct(logits, targets)
        env_state.val_totals[: 1 + len(configurations)] += torch.cat([loss.double()[None], correct.double()])


def choose_configurations(env_state: ParallelEnvState, *, setup: RunSetup) -> Comparison:
    """Which seeds to switch off; in the last epoch of an episode as many as its Shapley values take."""
    contributing = env_state.model.contributing_slots()
    if env_state.epoch < setup.config.episode_length:
        return Comparison.of_epoch(contributing)
    generator = derive_generator(setup.config.seed, env_state.round_idx, env_state.env_idx, "attribution")
    return Comparison.of_last_epoch(contributing, generator)


def measure_contributions(
    env_state: ParallelEnvState, accuracies: Sequence[float]
) -> CounterfactualMatrix | None:
    """Take in what validation said of each seed, and of each two; None where no seed takes part."""
    comparison, model = env_state.comparison, env_state.model
    matrix = comparison.matrix(accuracies) if comparison.slots else None
    model.record_epoch(accuracies[0], {} if matrix is None else matrix.contributions())
    if matrix is not None:
        env_state.scaffolds.record(env_state.epoch, matrix.interactions(), model.slot_reports())
    env_state.matrix = matrix
    return matrix
