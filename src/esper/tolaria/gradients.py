"""Gradient norms of hosts and seeds while they train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from esper.kasmina import MorphogeneticModel
from esper.leyline.telemetry import HostGradientNorms
from esper.tolaria.setup import HostState


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
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    # A host may lie on several ranks.
    return total.full_tensor() if hasattr(total, "full_tensor") else total


@dataclass(frozen=True, slots=True)
class GradientNorms:
    """Mean 2-norms over the batches measured: of the host's gradient and of every seed's."""

    host: float
    seeds: Mapping[str, float]


def split_gradient_norms(norms: Sequence[Tensor], seed_slots: Sequence[Sequence[str]]) -> list[GradientNorms]:
    """The norms [1 + seeds] of every env with names. One transfer to the host for all envs."""
    flat = iter(torch.cat(list(norms)).tolist() if norms else ())
    return [GradientNorms(next(flat), {slot: next(flat) for slot in slots}) for slots in seed_slots]


def measure_gradients(env_state: HostState) -> None:
    """Keep the norms of the gradients that a batch has left, on the device."""
    env_state.watched_slots = env_state.model.live_slots()
    env_state.gradient_norms.append(_gradient_norms(env_state.model))


@torch.compiler.disable
def _gradient_norms(model: MorphogeneticModel) -> Tensor:
    of_host = collect_host_gradients_async(model.host_parameters())
    of_seeds = collect_seed_gradients_async(
        {slot_id: model.seed_parameters(slot_id) for slot_id in model.live_slots()}, of_host.device
    )
    return torch.cat([of_host[None], of_seeds])


def take_gradients(env_states: Sequence[HostState], device: torch.device) -> list[HostGradientNorms]:
    """Means over the batches of an epoch that were measured, read from a device in one transfer."""
    norms = split_gradient_norms(
        [torch.stack(env_state.gradient_norms).mean(0).to(device) for env_state in env_states],
        [env_state.watched_slots for env_state in env_states],
    )
    gradients = []
    for env_state, of_host in zip(env_states, norms, strict=True):
        batches = len(env_state.gradient_norms)
        gradients.append(HostGradientNorms(host=of_host.host, seeds=of_host.seeds, batches=batches))
        env_state.gradient_norms.clear()
    return gradients
