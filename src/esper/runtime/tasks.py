"""The tasks by name, and the presets for them."""

from collections.abc import Mapping
from typing import Any

from esper.leyline.errors import InputError
from esper.leyline.task import TaskSpec

_THREE_SLOTS = ("r0c0", "r0c1", "r0c2")

TASKS: Mapping[str, TaskSpec] = {
    spec.name: spec
    for spec in (
        TaskSpec(
            name="cifar_baseline",
            description="a small convolutional network on CIFAR-10",
            widths=(16, 32, 64),
            slots=_THREE_SLOTS,
        ),
        TaskSpec(
            name="cifar_minimal",
            description="a very small network on CIFAR-10, for quick runs",
            widths=(8, 16, 16),
            slots=_THREE_SLOTS,
        ),
    )
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "cifar_baseline": {"task": "cifar_baseline"},
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
