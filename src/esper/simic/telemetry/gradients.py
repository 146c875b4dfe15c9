"""Gradient norms of the policy's layers after an update."""

from dataclasses import dataclass

import torch
from torch import nn

VANISHING_NORM = 1e-7
EXPLODING_NORM = 1e2


@dataclass(frozen=True, slots=True)
class LayerGradientStats:
    """The 2-norm of one parameter's gradient."""

    name: str
    norm: float


@torch.compiler.disable
def collect_per_layer_gradients(module: nn.Module) -> list[LayerGradientStats]:
    """Gradient norms of a module's parameters that have one, in their order. One transfer to the host."""
    named = [(name, value.grad) for name, value in module.named_parameters() if value.grad is not None]
    if not named:
        return []
    norms = torch.stack(torch._foreach_norm([gradient for _, gradient in named])).tolist()
    return [LayerGradientStats(name, norm) for (name, _), norm in zip(named, norms, strict=True)]
