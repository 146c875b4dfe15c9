"""In a fresh interpreter: what an import does not load."""

import subprocess
import sys

import pytest


def loaded(program: str, *names: str) -> list[str]:
    """The modules among some, and below them, that are there after a program."""
    ask = f"import sys; print(*sorted(m for m in sys.modules if m.startswith({names!r})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; {ask}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_presets_load_neither_the_training_loop_nor_torch() -> None:
    program = (
        "import esper.runtime as r; r.get_task_spec('cifar_baseline'); r.preset_settings('cifar_baseline')"
    )
    assert loaded(program, "torch", "esper.simic", "esper.tolaria", "esper.scripts") == []


def test_the_settings_load_neither_the_training_loop_nor_torch() -> None:
    found = loaded("import esper.simic.training.config, esper.simic.training.dual_ab", "torch", "esper.simic")
    packages = ("esper.simic", "esper.simic.agent", "esper.simic.training")
    assert [name for name in found if name not in packages] == [
        "esper.simic.agent.config",
        "esper.simic.training.config",
        "esper.simic.training.dual_ab",
    ]


def test_the_lower_packages_do_not_load_the_training_loop() -> None:
    program = "import esper.leyline, esper.kasmina, esper.tamiyo, esper.nissa, esper.tolaria"
    program += "; import esper.tolaria.engine, esper.tolaria.engines"
    assert loaded(program, "esper.simic", "esper.scripts") == []


def test_the_trainer_is_loaded_when_it_is_asked_for() -> None:
    assert loaded("import esper.simic", "torch", "esper.simic.") == []
    found = loaded("from esper.simic import train_ppo_vectorized, ParallelEnvState", "esper.simic.training.")
    assert {"esper.simic.training.vectorized", "esper.simic.training.round_state"} <= set(found)


def test_telemetry_does_not_load_the_training_loop() -> None:
    program = "from esper.simic.telemetry.emitters import emit_batch_completed, apply_slot_telemetry"
    program += "; from esper.simic.telemetry.emitters import aggregate_ppo_metrics"
    assert loaded(program, "esper.simic.training") == []


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import esper.simic

    with pytest.raises(AttributeError, match="has no attribute 'train_ppo'"):
        esper.simic.train_ppo  # noqa: B018
