"""What is learnt: the task a host is trained on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """A host, its data and its optimizers. Learning rates are SGD's; `widths` are the host's channels
    per stage.
    """

    name: str
    description: str
    widths: tuple[int, ...]
    slots: tuple[str, ...]
    num_classes: int = 10
    image_size: int = 32
    batch_size: int = 64
    host_lr: float = 0.05
    seed_lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4
