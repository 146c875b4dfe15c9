"""Tasks and presets."""

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
