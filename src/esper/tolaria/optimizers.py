"""Optimizers of hosts and seeds."""

from collections.abc import Sequence

import torch
from torch import nn

from esper.leyline.task import TaskSpec


def create_optimizer(
    parameters: Sequence[nn.Parameter], task_spec: TaskSpec, *, learning_rate: float
) -> torch.optim.Optimizer:
    """The task's fused optimizer for a host or for one seed: SGD with momentum, or AdamW."""
    if task_spec.optimizer == "adamw":
        return torch.optim.AdamW(
            parameters, lr=learning_rate, weight_decay=task_spec.weight_decay, fused=True
        )
    optimizer = torch.optim.SGD(
        parameters,
        lr=learning_rate,
        momentum=task_spec.momentum,
        weight_decay=task_spec.weight_decay,
        fused=True,
    )
    # The fused step takes the momentum of all parameters or of none, and a seed's gate gets its first
    # gradient later than the rest of the seed; so all of it exists from the start.
    for parameter in parameters:
        optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimizer


def reset_momentum(optimizer: torch.optim.Optimizer) -> None:
    """Forget the direction of travel, as after weights were put back."""
    for state in optimizer.state.values():
        for tensor in state.values():
            tensor.zero_()
