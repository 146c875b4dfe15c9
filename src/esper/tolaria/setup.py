"""Set-up of an engine, and its record of each host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.amp as torch_amp
from torch import Tensor

from esper.kasmina import GateConfig, ModelSnapshot, MorphogeneticModel
from esper.leyline import SlotConfig
from esper.leyline.rollout import Configuration, HostEvent, HostResult, SlotChange
from esper.leyline.task import Loading, TaskSpec
from esper.leyline.telemetry import Payload
from esper.tamiyo import SignalTracker
from esper.tolaria.data import SharedBatchIterator, TrainingData
from esper.tolaria.governor import Governor, GovernorConfig
from esper.tolaria.models import create_model, create_optimizer
from esper.tolaria.runtime import derive_generator, make_scaler, make_stream

if TYPE_CHECKING:
    from esper.tolaria.host_parts import HostParts


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of training: hosts of a task, the slots that seeds may grow in, and the data."""

    task_spec: TaskSpec
    slot_config: SlotConfig
    slots: tuple[str, ...]
    host_params: int
    data: TrainingData
    gates: GateConfig


@dataclass(frozen=True, slots=True)
class Precision:
    """The lower precision that hosts compute in where that is safe, if any; `torch_amp` is `torch.amp`."""

    dtype: torch.dtype | None
    torch_amp: Any

    def autocast(self, device: torch.device) -> AbstractContextManager[Any]:
        """Compute the block so."""
        if self.dtype is None:
            return nullcontext()
        context: AbstractContextManager[Any] = self.torch_amp.autocast(device.type, dtype=self.dtype)
        return context


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the policy and each env's host compute, in which precision, and how batches reach the hosts."""

    policy_device: torch.device
    env_devices: tuple[torch.device, ...]
    precision: Precision
    loading: Loading


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """Set-up of an engine: all that stays the same from the first round to the last.

    `envs` are those of the run's envs that are trained here. `governor_threshold` is the validation loss at
    which a host counts as broken; `max_configurations` the most that one validation pass compares;
    `batch_iterator` makes batches of the data. `host_parallel` is how many ranks are to train a host
    together, and whether they share its weights out ("fsdp"); `parts` are those ranks.
    """

    subject: Subject
    placement: Placement
    envs: range
    seed: int
    episode_length: int
    governor_threshold: float
    max_configurations: int
    batch_iterator: type[SharedBatchIterator] = SharedBatchIterator
    parts: HostParts | None = None
    host_parallel: tuple[Literal["ddp", "fsdp"], int] | None = None

    @property
    def devices(self) -> tuple[torch.device, ...]:
        """The device of each env that is trained here."""
        return tuple(self.placement.env_devices[env_idx] for env_idx in self.envs)

    def batches(
        self, devices: Sequence[torch.device], generators: Sequence[torch.Generator] | None = None
    ) -> SharedBatchIterator:
        """Batches for envs on these devices: of training with a generator for each, else of validation."""
        return self.batch_iterator(
            self.subject.data,
            self.subject.task_spec.batch_size,
            devices,
            generators,
            self.placement.loading,
        )


@dataclass(slots=True)
class HostState:
    """One env as its engine knows it. ValueError if the stream is not one of the device.

    Totals are sums on the device, float64: of losses and of correct answers, [2] in training; in
    validation [1 + C], the loss of the host as it is, then the correct answers of each of C
    configurations. `gradient_norms` are those of the epoch's batches measured so far, [1 + live seeds] on the
    device, of the host and of the seeds in `watched_slots`; `events` are what nobody was told yet.
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
    watched_slots: tuple[str, ...] = ()
    gradient_norms: list[Tensor] = field(default_factory=list)
    events: list[HostEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.stream is not None and not _same_device(self.stream.device, self.device):
            raise ValueError(
                f"env {self.env_idx}: its stream is of {self.stream.device}, its host on {self.device}"
            )

    @property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The host's optimizer, then one for every live seed."""
        return [self.host_optimizer, *self.seed_optimizers.values()]

    def take_events(self) -> tuple[HostEvent, ...]:
        """Return the events since the last call."""
        events = tuple(self.events)
        self.events.clear()
        return events

    def result(self) -> HostResult:
        """Return the result of the env so far."""
        return HostResult(
            final_accuracy=self.val_accuracy,
            best_accuracy=self.best_accuracy,
            germinated=self.model.germinated,
            fossilized=self.model.fossilized,
            pruned=self.model.pruned,
            rollbacks=self.rollbacks,
            total_params=self.model.total_parameters,
        )


def _same_device(one: torch.device, other: torch.device) -> bool:
    return one.type == other.type and (other.index is None or one.index == other.index)


def make_telemetry_callback(events: list[HostEvent]) -> Callable[[str, Payload], None]:
    """A callback for the slots of one env, which keeps what happens in them until the client is told."""
    return lambda slot_id, payload: events.append(SlotChange(slot_id, payload))


def configure_slot_telemetry(model: MorphogeneticModel, events: list[HostEvent]) -> None:
    """Keep what happens in the slots of a model."""
    model.set_telemetry(make_telemetry_callback(events))


def create_host_states(round_idx: int, setup: EngineSetup) -> list[HostState]:
    """The hosts of a round."""
    return [create_host_state(env_idx, round_idx, setup) for env_idx in setup.envs]


def create_host_state(env_idx: int, round_idx: int, setup: EngineSetup) -> HostState:
    """A fresh host with all that belongs to it; a function of the seed, the round and the env's index."""
    subject, device = setup.subject, setup.placement.env_devices[env_idx]
    model = create_model(
        subject.task_spec,
        subject.slot_config,
        subject.slots,
        generator=derive_generator(setup.seed, round_idx, env_idx, "weights"),
        device=device,
        gates=subject.gates,
    )
    if setup.parts is not None:
        setup.parts.spread(model)
    governor = Governor[ModelSnapshot](
        subject.task_spec.num_classes, GovernorConfig(absolute_threshold=setup.governor_threshold)
    )
    chance = 1.0 / subject.task_spec.num_classes
    governor.keep(model.snapshot, 0, -math.log(chance), chance)
    events: list[HostEvent] = []
    configure_slot_telemetry(model, events)
    return HostState(
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
        events=events,
    )
