"""Make the envs of a round, and connect their slots to telemetry."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch

from esper.leyline.telemetry import Payload, RoundStarted, SeedGateEvaluated, TelemetryEvent
from esper.simic.agent import RolloutBuffer
from esper.simic.telemetry import TelemetryLevel
from esper.simic.telemetry.emitters import _apply_slot_telemetry, _emit_with_env_context
from esper.simic.training.helpers import _calculate_entropy_anneal_steps
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import RoundState, RunSetup
from esper.tamiyo import SignalTracker
from esper.tolaria.governor import Governor, GovernorConfig
from esper.tolaria.models import create_model
from esper.tolaria.optimizers import create_optimizer
from esper.tolaria.runtime import make_scaler, make_stream
from esper.tolaria.seeding import derive_generator, derive_seed


def make_telemetry_callback(
    env_state: ParallelEnvState, *, setup: RunSetup
) -> Callable[[str, Payload], None]:
    """A callback for the slots of one env, which puts their payloads into the env's place in the run, if
    they are wanted then: the level can change while seeds live.
    """

    def on_telemetry(slot_id: str, payload: Payload) -> None:
        is_gate = isinstance(payload, SeedGateEvaluated)
        if setup.reporter.telemetry.wants(TelemetryLevel.DEBUG if is_gate else TelemetryLevel.NORMAL):
            _emit_with_env_context(setup.reporter.hub, env_state, payload, slot=slot_id)

    return on_telemetry


def configure_slot_telemetry(env_state: ParallelEnvState, *, setup: RunSetup) -> None:
    """Connect the slots of an env to the hub."""
    _apply_slot_telemetry(env_state.model, make_telemetry_callback(env_state, setup=setup))


def create_env_state(env_idx: int, round_idx: int, *, setup: RunSetup) -> ParallelEnvState:
    """A fresh host with everything that belongs to it; a function of the seed, the round and the
    env's index.
    """
    env_device = setup.placement.env_devices[env_idx]
    model = create_model(
        setup.subject.task_spec,
        setup.subject.slot_config,
        setup.subject.slots,
        generator=derive_generator(setup.config.seed, round_idx, env_idx, "weights"),
        device=env_device,
        gates=setup.subject.gates,
    )
    host_optimizer = create_optimizer(
        model.host_parameters(), setup.subject.task_spec, learning_rate=setup.subject.task_spec.host_lr
    )
    env_state = ParallelEnvState(
        env_idx=env_idx,
        round_idx=round_idx,
        device=env_device,
        model=model,
        host_optimizer=host_optimizer,
        scaler=make_scaler(setup.placement.amp_dtype, env_device),
        signal_tracker=SignalTracker(setup.config.episode_length),
        governor=Governor(
            setup.subject.task_spec.num_classes,
            GovernorConfig(absolute_threshold=setup.config.governor_threshold),
        ),
        data_generator=derive_generator(setup.config.seed, round_idx, env_idx, "data"),
        action_generator=derive_generator(setup.config.seed, round_idx, env_idx, "action"),
        stream=make_stream(env_device),
        train_totals=torch.zeros(2, dtype=torch.float64, device=env_device),
        val_totals=torch.zeros(1 + setup.subject.max_configurations, dtype=torch.float64, device=env_device),
    )
    chance = 1.0 / setup.subject.task_spec.num_classes
    env_state.governor.keep(model.snapshot, 0, -math.log(chance), chance)
    configure_slot_telemetry(env_state, setup=setup)
    return env_state


def begin_round(round_idx: int, *, setup: RunSetup, SharedBatchIterator, agent) -> RoundState:
    """Fresh hosts, and batches that follow each env's own order."""
    started = time.perf_counter()
    steps = _calculate_entropy_anneal_steps(setup.config.entropy_anneal_episodes, setup.config.envs)
    annealed = min(1.0, round_idx / steps) if steps > 0 else 0.0
    entropy_coef = setup.config.entropy_start + annealed * (
        setup.config.entropy_end - setup.config.entropy_start
    )
    setup.reporter.hub.emit(
        TelemetryEvent(
            data=RoundStarted(
                env_seeds=tuple(
                    derive_seed(setup.config.seed, round_idx, env_idx) for env_idx in range(setup.config.envs)
                ),
                entropy_coef=entropy_coef,
            ),
            round=round_idx,
        )
    )
    env_states = [create_env_state(env_idx, round_idx, setup=setup) for env_idx in range(setup.config.envs)]
    return RoundState(
        round_idx=round_idx,
        entropy_coef=entropy_coef,
        env_states=env_states,
        train_batches=SharedBatchIterator(
            setup.subject.data,
            setup.subject.task_spec.batch_size,
            setup.placement.env_devices,
            [env_state.data_generator for env_state in env_states],
            setup.placement.loading,
        ),
        buffer=RolloutBuffer(
            setup.config.envs,
            setup.config.episode_length,
            setup.subject.slot_config,
            setup.placement.policy_device,
        ),
        hidden=None if agent is None else agent.initial_hidden(setup.config.envs),
        started=started,
        phase_s=dict.fromkeys(("train", "validate", "decide", "act", "update"), 0.0),
    )
