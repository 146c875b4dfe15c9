"""The host's side of one env: its model with optimizers, its random state, and what it has counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.amp as torch_amp
from torch import Tensor

from esper.kasmina import ModelSnapshot, MorphogeneticModel
from esper.leyline import WitnessProtocol
from esper.leyline.rollout import Configuration, HostResult
from esper.leyline.telemetry import Payload
from esper.tamiyo import SignalTracker
from esper.tolaria.governor import Governor, GovernorConfig
from esper.tolaria.models import create_model
from esper.tolaria.optimizers import create_optimizer
from esper.tolaria.runtime import make_scaler, make_stream
from esper.tolaria.seeding import derive_generator
from esper.tolaria.setup import EngineSetup


@dataclass(slots=True)
class EnvState:
    """One env as its engine knows it.

    Totals are sums on the device, float64: of losses and of correct answers, [2] in training; in
    validation [1 + C], the loss of the host as it is, then the correct answers of each of C
    configurations.
    """

    env_idx: int
    device: torch.device
    model: MorphogeneticModel
    host_optimizer: torch.optim.Optimizer
    scaler: torch_amp.GradScaler | None
    signal_tracker: SignalTracker
    governor: Governor[ModelSnapshot]
    data_generator: torch.Generator
    stream: torch.cuda.Stream | None
    train_totals: Tensor
    val_totals: Tensor
    epoch: int = 0
    seed_optimizers: dict[str, torch.optim.Optimizer] = field(default_factory=dict)
    configurations: Sequence[Configuration] = ({},)
    best_accuracy: float = 0.0
    val_accuracy: float = 0.0
    rollbacks: int = 0

    @property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The host's optimizer, then one for every live seed."""
        return [self.host_optimizer, *self.seed_optimizers.values()]

    def result(self) -> HostResult:
        """What the env came to so far."""
        return HostResult(
            final_accuracy=self.val_accuracy,
            best_accuracy=self.best_accuracy,
            germinated=self.model.germinated,
            fossilized=self.model.fossilized,
            pruned=self.model.pruned,
            rollbacks=self.rollbacks,
            total_params=self.model.total_parameters,
        )


def create_env_states(round_idx: int, setup: EngineSetup, witness: WitnessProtocol) -> list[EnvState]:
    """The envs of a round, whose slots report to the witness."""
    return [
        create_env_state(env_idx, round_idx, setup, partial(witness.slot_changed, env_idx))
        for env_idx in range(len(setup.placement.env_devices))
    ]


def create_env_state(
    env_idx: int, round_idx: int, setup: EngineSetup, on_telemetry: Callable[[str, Payload], None]
) -> EnvState:
    """A fresh host with everything that belongs to it; a function of the seed, the round and the env's index.

    Its slots report to `on_telemetry`.
    """
    subject, device = setup.subject, setup.placement.env_devices[env_idx]
    model = create_model(
        subject.task_spec,
        subject.slot_config,
        subject.slots,
        generator=derive_generator(setup.seed, round_idx, env_idx, "weights"),
        device=device,
        gates=subject.gates,
    )
    governor = Governor[ModelSnapshot](
        subject.task_spec.num_classes, GovernorConfig(absolute_threshold=setup.governor_threshold)
    )
    chance = 1.0 / subject.task_spec.num_classes
    governor.keep(model.snapshot, 0, -math.log(chance), chance)
    model.set_telemetry(on_telemetry)
    return EnvState(
        env_idx=env_idx,
        device=device,
        model=model,
        host_optimizer=create_optimizer(
            model.host_parameters(), subject.task_spec, learning_rate=subject.task_spec.host_lr
        ),
        scaler=make_scaler(setup.placement.precision.dtype, device),
        signal_tracker=SignalTracker(setup.episode_length),
        governor=governor,
        data_generator=derive_generator(setup.seed, round_idx, env_idx, "data"),
        stream=make_stream(device),
        train_totals=torch.zeros(2, dtype=torch.float64, device=device),
        val_totals=torch.zeros(1 + setup.max_configurations, dtype=torch.float64, device=device),
    )
