"""Make the envs of a round, and connect their slots to telemetry."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from esper.leyline.task import TaskSpec
from esper.leyline.telemetry import Payload, SeedGateEvaluated
from esper.simic.telemetry import TelemetryConfig, TelemetryLevel
from esper.simic.telemetry.emitters import _apply_slot_telemetry, _emit_with_env_context
from esper.simic.training.config import TrainingConfig
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.tolaria.governor import Governor
from esper.tolaria.optimizers import create_optimizer
from esper.tolaria.runtime import make_stream
from esper.tolaria.seeding import derive_generator


def make_telemetry_callback(
    env_state: ParallelEnvState,
    *,
    telemetry: TelemetryConfig,
    hub,
) -> Callable[[str, Payload], None]:
    """A callback for the slots of one env, which puts their payloads into the env's place in the run."""

    def on_telemetry(slot_id: str, payload: Payload) -> None:
        if isinstance(payload, SeedGateEvaluated) and not telemetry.wants(TelemetryLevel.DEBUG):
            return
        _emit_with_env_context(hub, env_state, payload, slot=slot_id)

    return on_telemetry


def configure_slot_telemetry(env_state: ParallelEnvState, *, telemetry: TelemetryConfig, hub) -> None:
    """Connect the slots of an env to the hub, if their telemetry is wanted."""
    if telemetry.wants(TelemetryLevel.NORMAL):
        _apply_slot_telemetry(env_state.model, make_telemetry_callback(
            env_state,
            telemetry=telemetry,
            hub=hub,
        ))
    else:
        _apply_slot_telemetry(env_state.model, None)


def create_env_state(
    env_idx: int,
    round_idx: int,
    *,
    create_model,
    task_spec: TaskSpec,
    slot_config,
    slots,
    config: TrainingConfig,
    device,
    SignalTracker,
    max_epochs,
    max_configurations,
    telemetry: TelemetryConfig,
    hub,
) -> ParallelEnvState:
    """A fresh host with everything that belongs to it; a function of the seed, the round and the
    env's index.
    """
    model = create_model(
        task_spec,
        slot_config,
        slots,
        generator=derive_generator(config.seed, round_idx, env_idx, "weights"),
        device=device,
    )
    host_optimizer = create_optimizer(model.host_parameters(), task_spec, learning_rate=task_spec.host_lr)
    env_state = ParallelEnvState(
        env_idx=env_idx,
        round_idx=round_idx,
        model=model,
        host_optimizer=host_optimizer,
        signal_tracker=SignalTracker(max_epochs),
        governor=Governor(task_spec.num_classes),
        data_generator=derive_generator(config.seed, round_idx, env_idx, "data"),
        action_generator=derive_generator(config.seed, round_idx, env_idx, "action"),
        stream=make_stream(device),
        train_totals=torch.zeros(2, dtype=torch.float64, device=device),
        val_totals=torch.zeros(1 + max_configurations, dtype=torch.float64, device=device),
    )
    chance = 1.0 / task_spec.num_classes
    env_state.governor.keep(model.snapshot, 0, -math.log(chance), chance)
    configure_slot_telemetry(env_state, telemetry=telemetry, hub=hub)
    return env_state
