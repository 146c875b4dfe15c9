"""Train and validate one env's host on one batch; results stay on the device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from esper.leyline.rollout import Configuration
from esper.tolaria.gradients import measure_gradients
from esper.tolaria.host_state import HostEnvState
from esper.tolaria.losses import count_correct, mean_loss, summed_loss
from esper.tolaria.optimizers import backward, step_optimizers
from esper.tolaria.runtime import on_stream
from esper.tolaria.setup import Precision

if TYPE_CHECKING:
    from esper.tolaria.host_parts import HostParts


def begin_training(env_state: HostEnvState, epoch: int) -> None:
    """Make a host ready for an epoch of training."""
    env_state.epoch = epoch
    env_state.model.train()
    env_state.train_totals.zero_()


def begin_validation(env_state: HostEnvState, configurations: Sequence[Configuration]) -> None:
    """Make a host ready for a validation pass over the configurations that are to be compared."""
    env_state.model.eval()
    env_state.val_totals.zero_()
    env_state.configurations = configurations


def process_train_batch(
    env_state: HostEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    precision: Precision,
    watched: bool,
    parts: HostParts | None = None,
) -> None:
    """Forward, backward and optimizer steps; adds to the env's totals, if `watched` to its gradient norms.

    With `parts` all that is of this rank's part of the batch, and the loss a share of the whole one's.
    """
    optimizers, examples = env_state.optimizers, len(targets)
    if parts is not None:
        inputs, targets = parts.own(inputs), parts.own(targets)
    with on_stream(env_state.stream, inputs, targets):
        env_state.host_optimizer.zero_grad(set_to_none=True)
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        with precision.autocast(env_state.device):
            logits = env_state.model(inputs)
        loss = mean_loss(logits, targets)
        share = loss if parts is None else loss * (len(targets) / examples)
        backward(share, optimizers, env_state.scaler)
        if watched:
            measure_gradients(env_state)
        step_optimizers(optimizers, env_state.scaler)
        correct = count_correct(logits, targets)
        env_state.train_totals += torch.stack([loss.detach().double() * targets.numel(), correct.double()])


def process_val_batch(
    env_state: HostEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    precision: Precision,
    parts: HostParts | None = None,
) -> None:
    """Loss and correct answers of the host as it is; adds to the env's totals."""
    if parts is not None:
        inputs, targets = parts.own(inputs), parts.own(targets)
    with on_stream(env_state.stream, inputs, targets), _evaluating(parts):
        with precision.autocast(env_state.device):
            logits = env_state.model(inputs)
        loss = summed_loss(logits, targets)
        correct = count_correct(logits, targets)
        env_state.val_totals[:2] += torch.stack([loss.double(), correct.double()])


def process_fused_val_batch(
    env_state: HostEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    precision: Precision,
    parts: HostParts | None = None,
) -> None:
    """Loss of the host as it is, and correct answers of all its configurations, in one pass."""
    configurations = env_state.configurations
    if parts is not None:
        inputs, targets = parts.own(inputs), parts.own(targets)
    with on_stream(env_state.stream, inputs, targets), _evaluating(parts):
        with precision.autocast(env_state.device):
            logits = env_state.model.fused_forward(inputs, configurations)
        loss = summed_loss(logits[0], targets)
        correct = count_correct(logits, targets)
        env_state.val_totals[: 1 + len(configurations)] += torch.cat([loss.double()[None], correct.double()])


def _evaluating(parts: HostParts | None) -> AbstractContextManager[None]:
    return torch.inference_mode() if parts is None else parts.evaluating()
