"""Forward, backward and optimizer steps of one env's batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from esper.leyline import SeedStateReport, TrainingSignals
from esper.simic.telemetry import TelemetryConfig, TelemetryLevel
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.tolaria.runtime import on_stream


@torch.compiler.disable
def _collect_gradient_telemetry_for_batch(
    env_state: ParallelEnvState,
    *,
    collect_host_gradients_async,
    slots,
) -> Tensor:
    """Gradient norms [1 + live seeds] of one batch, left on the device."""
    model = env_state.model
    live = model.live_slots()
    return collect_host_gradients_async(
        model.host_parameters(),
        {slot_id: model.seed_parameters(slot_id) for slot_id in slots if slot_id in live},
    )


def process_train_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    batch_idx: int,
    *,
    torch_amp,
    device,
    amp_dtype,
    use_amp,
    telemetry: TelemetryConfig,
    collect_host_gradients_async,
    slots,
) -> None:
    """Forward, backward and optimizer steps of one env's batch; adds to the env's totals on the
    device.
    """
    with on_stream(env_state.stream, inputs, targets):
        env_state.host_optimizer.zero_grad(set_to_none=True)
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        with torch_amp.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
            logits = env_state.model(inputs)
        loss = F.cross_entropy(logits.float(), targets)
        loss.backward()
        if telemetry.wants(TelemetryLevel.DEBUG) and batch_idx % telemetry.gradient_stride == 0:
            env_state.gradient_norms.append(_collect_gradient_telemetry_for_batch(
                env_state,
                collect_host_gradients_async=collect_host_gradients_async,
                slots=slots,
            ))
        env_state.host_optimizer.step()
        for optimizer in env_state.seed_optimizers.values():
            optimizer.step()
        correct = (logits.argmax(1) == targets).sum()
        env_state.train_totals += torch.stack([loss.detach().double() * len(targets), correct.double()])


def process_val_batch(
    env_state: ParallelEnvState,
    inputs: Tensor,
    targets: Tensor,
    *,
    torch_amp,
    device,
    amp_dtype,
    use_amp,
) -> None:
    """Loss and correct answers of an env's host as it is, on one batch; adds to the env's totals."""
    with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
        with torch_amp.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
            logits = env_state.model(inputs)
        loss = F.cross_entropy(logits.float(), targets, reduction="sum")
        correct = (logits.argmax(1) == targets).sum()
        env_state.val_totals[:2] += torch.stack([loss.double(), correct.double()])


def batch_signals_to_features(
    signals: Sequence[TrainingSignals],
    reports: Sequence[Mapping[str, SeedStateReport]],
    *,
    batch_obs_to_features,
    slot_config,
    host_params,
    device,
) -> Tensor:
    """Observation features [envs, features] of all envs."""
    return batch_obs_to_features(signals, reports, slot_config, host_params=host_params, device=device)
