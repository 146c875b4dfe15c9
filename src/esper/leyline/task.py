"""Tasks: the data that hosts learn, and how it is brought to them."""

from dataclasses import dataclass
from typing import Literal

from esper.leyline.slots import Topology

TaskType = Literal["classification", "lm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """A host, its data and its optimizers.

    `widths` are the host's channels, one per slot; `halved` says which of a convolutional host's stages halve
    height and width (None: all). A task of type "lm" predicts the next character of every position:
    `num_classes` is its alphabet, `context_length` its positions, and totals count characters.
    """

    name: str
    description: str
    widths: tuple[int, ...]
    slots: tuple[str, ...]
    task_type: TaskType = "classification"
    halved: tuple[bool, ...] | None = None
    num_classes: int = 10
    context_length: int = 0
    batch_size: int = 64
    optimizer: Literal["sgd", "adamw"] = "sgd"
    host_lr: float = 0.05
    seed_lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4

    @property
    def topology(self) -> Topology:
        """Kind of host that learns the task."""
        return "transformer" if self.task_type == "lm" else "cnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How batches are made. With `preload` the data lives on the envs' devices, else on the host, and batches
    are moved. `augment`: crop and flip training images. `workers` threads make batches ahead; random numbers
    are drawn in one order, so that any number of them gives the same bits.
    """

    preload: bool = False
    augment: bool = True
    workers: int = 0
