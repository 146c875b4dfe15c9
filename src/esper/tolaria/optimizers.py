"""Optimizers of hosts and seeds."""

from collections.abc import Sequence

import torch
from torch import nn

from esper.leyline.task import TaskSpec


def create_optimizer(
    parameters: Sequence[nn.Parameter], task_spec: TaskSpec, *, learning_rate: float
) -> torch.optim.SGD:
    """Fused SGD with momentum for a host or for one seed.

    The momentum of every parameter exists from the start: the fused step takes all of them or none, and
    a seed's gate gets its first gradient later than the rest of the seed.
    """
    optimizer = torch.optim.SGD(
        parameters,
        lr=learning_rate,
        momentum=task_spec.momentum,
        weight_decay=task_spec.weight_decay,
        fused=True,
    )
    for parameter in parameters:
        optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimizer


def reset_momentum(optimizer: torch.optim.Optimizer) -> None:
    """Forget the direction of travel, as after weights were put back."""
    for state in optimizer.state.values():
        state["momentum_buffer"].zero_()
