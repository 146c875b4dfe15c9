"""Gradient norms: of the policy's layers after an update, and of a host and its seeds while they train."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

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


@dataclass(frozen=True, slots=True)
class GradientNorms:
    """Mean 2-norms over the batches measured: of the host's gradient and of every seed's."""

    host: float
    seeds: Mapping[str, float]


@torch.compiler.disable
def collect_host_gradients_async(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Norm [] of a host's whole gradient. Does not wait for the device."""
    return _total_norm(parameters)


@torch.compiler.disable
def collect_seed_gradients_async(
    parameters: Mapping[str, Sequence[nn.Parameter]], device: torch.device
) -> Tensor:
    """Norms [seeds] of each seed's gradient, in the mapping's order. Does not wait for the device."""
    norms = [_total_norm(group) for group in parameters.values()]
    return torch.stack(norms) if norms else torch.zeros(0, device=device)


def _total_norm(parameters: Sequence[nn.Parameter]) -> Tensor:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return torch.zeros((), device=parameters[0].device if parameters else None)
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))


def split_gradient_norms(norms: Sequence[Tensor], seed_slots: Sequence[Sequence[str]]) -> list[GradientNorms]:
    """The norms [1 + seeds] of every env with names. One transfer to the host for all envs."""
    flat = iter(torch.cat(list(norms)).tolist())
    return [GradientNorms(next(flat), {slot: next(flat) for slot in slots}) for slots in seed_slots]
