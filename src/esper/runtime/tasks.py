"""The tasks by name, and the presets for them."""

from collections.abc import Mapping
from typing import Any

from esper.leyline.errors import InputError
from esper.leyline.task import TaskSpec


def _slots(count: int) -> tuple[str, ...]:
    return tuple(f"r0c{column}" for column in range(count))


TASKS: Mapping[str, TaskSpec] = {
    spec.name: spec
    for spec in (
        TaskSpec(
            name="cifar_baseline",
            description="a small convolutional network on CIFAR-10",
            widths=(8, 16, 32),
            slots=_slots(3),
        ),
        TaskSpec(
            name="cifar_scale",
            description="a wider and deeper network on CIFAR-10",
            widths=(16, 32, 64, 64),
            slots=_slots(4),
        ),
        TaskSpec(
            name="cifar_impaired",
            description="a network too narrow for CIFAR-10, which seeds can widen in two places",
            widths=(8, 12),
            slots=_slots(2),
        ),
        TaskSpec(
            name="cifar_minimal",
            description="a very small network on CIFAR-10, for quick runs",
            widths=(8, 16, 16),
            slots=_slots(3),
        ),
        TaskSpec(
            name="cifar_deep",
            description="a network of six stages on CIFAR-10, every other one halving the image",
            widths=(8, 8, 16, 16, 32, 32),
            halved=(True, False, True, False, True, False),
            slots=_slots(6),
        ),
        TaskSpec(
            name="char_lm",
            description="a small transformer that predicts the next character of a generated text",
            task_type="lm",
            widths=(32, 32, 32),
            slots=_slots(3),
            num_classes=42,
            context_length=64,
            batch_size=32,
            optimizer="adamw",
            host_lr=0.003,
            seed_lr=0.003,
            weight_decay=0.01,
        ),
    )
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"task": name} for name in TASKS},
    "cifar_minimal": {
        "task": "cifar_minimal",
        "rounds": 2,
        "envs": 3,
        "episode_length": 8,
        "train_images": 512,
        "val_images": 128,
    },
}


def get_task_spec(name: str) -> TaskSpec:
    """The task of a name. Raises InputError for an unknown one."""
    if name not in TASKS:
        raise InputError(f"--task {name}: no such task; known are {', '.join(TASKS)}")
    return TASKS[name]


def preset_settings(name: str) -> dict[str, Any]:
    """The settings that a preset makes. Raises InputError for an unknown one."""
    if name not in PRESETS:
        raise InputError(f"--preset {name}: no such preset; known are {', '.join(PRESETS)}")
    return dict(PRESETS[name])
