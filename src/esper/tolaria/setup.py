"""What an engine trains, where, and how."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

if TYPE_CHECKING:
    from esper.tolaria.host_parts import HostParts

from esper.kasmina import GateConfig
from esper.leyline import SlotConfig
from esper.leyline.task import Loading, TaskSpec
from esper.tolaria.data import SharedBatchIterator, TrainingData


@dataclass(frozen=True, slots=True)
class Subject:
    """What is trained: hosts of a task, the slots that seeds may grow in, and the data."""

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
        context: AbstractContextManager[Any] = self.torch_amp.autocast(
            device.type, dtype=self.dtype, enabled=self.dtype is not None
        )
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
    """What stays as it is from the first round to the last.

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
