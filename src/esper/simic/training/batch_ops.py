"""Gradient telemetry of the hosts' batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from esper.leyline import SeededHostProtocol
from esper.leyline.telemetry import HostGradientNorms
from esper.simic.telemetry import (
    TelemetryConfig,
    TelemetryLevel,
    collect_host_gradients_async,
    collect_seed_gradients_async,
    split_gradient_norms,
)
from esper.simic.telemetry.emitters import emit_with_env_context
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import RunSetup


@torch.compiler.disable
def _collect_gradient_telemetry_for_batch(model: SeededHostProtocol) -> Tensor:
    """Gradient norms [1 + live seeds] of one batch, left on the device."""
    of_host = collect_host_gradients_async(model.host_parameters())
    of_seeds = collect_seed_gradients_async(
        {slot_id: model.seed_parameters(slot_id) for slot_id in model.live_slots()}, of_host.device
    )
    return torch.cat([of_host[None], of_seeds])


def watch_gradients(
    env_state: ParallelEnvState, batch_idx: int, model: SeededHostProtocol, *, telemetry: TelemetryConfig
) -> None:
    """Measure the gradients of every so many batches, where that is wanted."""
    if telemetry.wants(TelemetryLevel.DEBUG) and batch_idx % telemetry.gradient_stride == 0:
        env_state.watched_slots = model.live_slots()
        env_state.gradient_norms.append(_collect_gradient_telemetry_for_batch(model))


def report_gradient_norms(env_states: Sequence[ParallelEnvState], *, setup: RunSetup) -> None:
    """Emit what the batches of an epoch have left, in one transfer for all envs."""
    gradient_norms = split_gradient_norms(
        [
            torch.stack(env_state.gradient_norms).mean(0).to(setup.placement.policy_device)
            for env_state in env_states
        ],
        [env_state.watched_slots for env_state in env_states],
    )
    for env_state, norms in zip(env_states, gradient_norms, strict=True):
        emit_with_env_context(
            setup.reporter.hub,
            env_state,
            HostGradientNorms(host=norms.host, seeds=norms.seeds, batches=len(env_state.gradient_norms)),
        )
        env_state.gradient_norms.clear()
