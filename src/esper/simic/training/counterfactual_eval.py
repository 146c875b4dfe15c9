"""Validate all configurations of an env's slots in one pass."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.tolaria.runtime import on_stream


def process_fused_val_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    torch_amp,
    device,
    amp_dtype,
    use_amp,
) -> None:
    """Loss of an env's host as it is, and correct answers of all its configurations, in one pass."""
    configurations = env_state.configurations
    with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
        with torch_amp.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
            logits = env_state.model.fused_forward(inputs, configurations)
        loss = F.cross_entropy(logits[0].float(), targets, reduction="sum")
        correct = (logits.argmax(2) == targets).sum(1)
        env_state.val_totals[: 1 + len(configurations)] += torch.cat(
            [loss.double()[None], correct.double()]
        )
