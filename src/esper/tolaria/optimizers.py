"""Optimizers of hosts and seeds."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

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
        # Torch has no fused step of SGD for a tensor that lies on several ranks.
        fused=not any(hasattr(parameter, "device_mesh") for parameter in parameters),
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


def backward(
    loss: Tensor, optimizers: Sequence[torch.optim.Optimizer], scaler: torch.amp.GradScaler | None
) -> None:
    """Gradients of a loss in true scale. Those of a scaled loss are scaled back on the device."""
    if scaler is None:
        loss.backward()
        return
    scaler.scale(loss).backward()
    for optimizer in _with_gradients(optimizers):
        scaler.unscale_(optimizer)


def step_optimizers(optimizers: Sequence[torch.optim.Optimizer], scaler: torch.amp.GradScaler | None) -> None:
    """Step all. With a scaler, an optimizer whose gradients overflowed keeps its weights, without a host
    read: the fused step is told on the device.
    """
    if scaler is None:
        for optimizer in optimizers:
            optimizer.step()
        return
    for optimizer in _with_gradients(optimizers):
        scaler.step(optimizer)
    scaler.update()


def _with_gradients(optimizers: Sequence[torch.optim.Optimizer]) -> list[torch.optim.Optimizer]:
    """Those with something to do: a seed that takes no part yet has no gradient, which a scaler refuses."""
    return [
        optimizer
        for optimizer in optimizers
        if any(
            parameter.grad is not None for group in optimizer.param_groups for parameter in group["params"]
        )
    ]
