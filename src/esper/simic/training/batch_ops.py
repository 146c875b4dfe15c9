"""Train and validate the hosts of all envs, batch first, then envs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from esper.leyline.telemetry import HostGradientNorms
from esper.simic.telemetry import (
    TelemetryLevel,
    collect_host_gradients_async,
    collect_seed_gradients_async,
    split_gradient_norms,
)
from esper.simic.telemetry.emitters import _emit_with_env_context
from esper.simic.training.counterfactual_eval import choose_configurations, process_fused_val_batch
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import RoundState, RunSetup
from esper.tolaria.losses import count_correct, mean_loss, summed_loss
from esper.tolaria.optimizers import backward, step_optimizers
from esper.tolaria.runtime import on_stream, synchronise, to_host


@torch.compiler.disable
def _collect_gradient_telemetry_for_batch(env_state: ParallelEnvState) -> Tensor:
    """Gradient norms [1 + live seeds] of one batch, left on the device."""
    model = env_state.model
    live = model.live_slots()
    of_host = collect_host_gradients_async(model.host_parameters())
    of_seeds = collect_seed_gradients_async(
        {slot_id: model.seed_parameters(slot_id) for slot_id in live}, env_state.device
    )
    return torch.cat([of_host[None], of_seeds])


def process_train_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    batch_idx: int,
    *,
    setup: RunSetup,
    torch_amp,
) -> None:
    """Forward, backward and optimizer steps of one env's batch; adds to the env's totals on the
    device.
    """
    telemetry = setup.reporter.telemetry
    optimizers = env_state.optimizers
    with on_stream(env_state.stream, inputs, targets):
        env_state.host_optimizer.zero_grad(set_to_none=True)
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        with torch_amp.autocast(
            env_state.device.type,
            dtype=setup.placement.amp_dtype,
            enabled=setup.placement.amp_dtype is not None,
        ):
            logits = env_state.model(inputs)
        loss = mean_loss(logits, targets)
        backward(loss, optimizers, env_state.scaler)
        if telemetry.wants(TelemetryLevel.DEBUG) and batch_idx % telemetry.gradient_stride == 0:
            env_state.gradient_norms.append(_collect_gradient_telemetry_for_batch(env_state))
        step_optimizers(optimizers, env_state.scaler)
        correct = count_correct(logits, targets)
        env_state.train_totals += torch.stack([loss.detach().double() * targets.numel(), correct.double()])


def process_val_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    torch_amp,
    setup: RunSetup,
) -> None:
    """Loss and correct answers of an env's host as it is, on one batch; adds to the env's totals."""
    with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
        with torch_amp.autocast(
            env_state.device.type,
            dtype=setup.placement.amp_dtype,
            enabled=setup.placement.amp_dtype is not None,
        ):
            logits = env_state.model(inputs)
        loss = summed_loss(logits, targets)
        correct = count_correct(logits, targets)
        env_state.val_totals[:2] += torch.stack([loss.double(), correct.double()])


def train_hosts(round_state: RoundState, epoch: int, *, setup: RunSetup, torch_amp) -> list[list[float]]:
    """One epoch of every host, batch first, then envs; summed losses and correct answers [envs][2]."""
    env_states = round_state.env_states
    for env_state in env_states:
        env_state.epoch = epoch
        env_state.model.train()
        env_state.train_totals.zero_()
    for batch_idx, env_batches in enumerate(round_state.train_batches):
        for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
            process_train_batch(env_state, inputs, targets, batch_idx, setup=setup, torch_amp=torch_amp)
    synchronise([env_state.stream for env_state in env_states])
    if setup.reporter.telemetry.wants(TelemetryLevel.DEBUG):
        report_gradient_norms(env_states, setup=setup)
    round_state.images += len(env_states) * setup.subject.data.train_size
    return to_host([env_state.train_totals for env_state in env_states], setup.placement.policy_device)


def report_gradient_norms(env_states: Sequence[ParallelEnvState], *, setup: RunSetup) -> None:
    """Emit what the batches of an epoch have left, in one transfer for all envs."""
    gradient_norms = split_gradient_norms(
        [
            torch.stack(env_state.gradient_norms).mean(0).to(setup.placement.policy_device)
            for env_state in env_states
        ],
        [env_state.model.live_slots() for env_state in env_states],
    )
    for env_state, norms in zip(env_states, gradient_norms, strict=True):
        _emit_with_env_context(
            setup.reporter.hub,
            env_state,
            HostGradientNorms(host=norms.host, seeds=norms.seeds, batches=len(env_state.gradient_norms)),
        )
        env_state.gradient_norms.clear()


def validate_hosts(round_state: RoundState, *, setup: RunSetup, val_batches, torch_amp) -> list[list[float]]:
    """Every host as it is and, in the same pass, without some of the seeds that change its output; summed
    loss, then correct answers by configuration [envs][1 + C].
    """
    env_states = round_state.env_states
    for env_state in env_states:
        env_state.model.eval()
        env_state.val_totals.zero_()
        env_state.comparison = choose_configurations(env_state, setup=setup)
    for env_batches in val_batches:
        for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
            if env_state.comparison.slots:
                process_fused_val_batch(env_state, inputs, targets, torch_amp=torch_amp, setup=setup)
            else:
                process_val_batch(env_state, inputs, targets, torch_amp=torch_amp, setup=setup)
    synchronise([env_state.stream for env_state in env_states])
    round_state.images += len(env_states) * setup.subject.data.val_size
    return to_host([env_state.val_totals for env_state in env_states], setup.placement.policy_device)
