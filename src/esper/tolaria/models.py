"""The model of a task, its loss and its optimizers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from esper.kasmina import (
    CNNHost,
    GateConfig,
    MorphogeneticModel,
    TransformerHost,
    create_host,
    create_text_host,
)
from esper.leyline import SlotConfig
from esper.leyline.task import TaskSpec


def create_model(
    task_spec: TaskSpec,
    slot_config: SlotConfig,
    enabled_slots: Sequence[str],
    *,
    generator: torch.Generator,
    device: torch.device,
    gates: GateConfig | None = None,
) -> MorphogeneticModel:
    """A fresh host with empty slots, on a device, in channels-last layout; all weights come from the
    generator.
    """
    host: CNNHost | TransformerHost
    if task_spec.topology == "transformer":
        host = create_text_host(
            task_spec.widths,
            alphabet=task_spec.num_classes,
            context_length=task_spec.context_length,
            generator=generator,
            slot_config=slot_config,
        )
    else:
        host = create_host(
            task_spec.widths,
            num_classes=task_spec.num_classes,
            generator=generator,
            slot_config=slot_config,
            halved=task_spec.halved,
        )
    model = MorphogeneticModel(host, slot_config, generator, enabled_slots=enabled_slots, gates=gates)
    return model.to(device, memory_format=torch.channels_last)


def mean_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of logits [..., classes] and targets [...], in float32, to train with."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())


def summed_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Summed cross-entropy of logits [..., classes] and targets [...], in float32."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten(), reduction="sum")


def count_correct(logits: Tensor, targets: Tensor) -> Tensor:
    """Correct answers of logits [..., classes], a scalar; of logits [C, ..., classes] one number per
    configuration [C].
    """
    right = logits.argmax(-1) == targets
    return right.sum() if right.dim() == targets.dim() else right.flatten(1).sum(1)


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
