"""Tasks and presets; looking one up loads no training loop."""

import subprocess
import sys

import pytest

from esper.leyline.errors import InputError
from esper.runtime import TASKS, get_task_spec, preset_settings
from esper.runtime.tasks import PRESETS
from esper.simic.training.config import TrainingConfig, parse_config


@pytest.mark.parametrize("name", TASKS)
def test_tasks_have_one_width_per_slot(name: str) -> None:
    spec = get_task_spec(name)
    assert spec.name == name
    assert len(spec.widths) == len(spec.slots)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid_settings(name: str) -> None:
    assert parse_config(TrainingConfig(), preset_settings(name)).task in TASKS


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(InputError, match="--task chess: no such task; known are cifar_baseline"):
        get_task_spec("chess")
    with pytest.raises(InputError, match="--preset chess: no such preset; known are cifar_baseline"):
        preset_settings("chess")


def test_importing_the_presets_loads_neither_the_training_loop_nor_torch() -> None:
    program = (
        "import sys, esper.runtime as r; r.get_task_spec('cifar_baseline'); "
        "print([m for m in sys.modules if m == 'torch' or m.startswith('esper.simic')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
