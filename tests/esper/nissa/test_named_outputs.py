"""Outputs by name: TensorBoard where it is installed, others by entry point."""

import math
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from esper.leyline.errors import InputError
from esper.leyline.telemetry import (
    CounterfactualComputed,
    PPOUpdateCompleted,
    RunCompleted,
    SeedGerminated,
    TelemetryEvent,
)
from esper.nissa import make_output, outputs
from esper.nissa.tensorboard import scalars


def register(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Make entry points of the outputs' group out of `name="module:attribute"`."""
    found = [EntryPoint(name, value, outputs.GROUP) for name, value in values.items()]

    def entry_points(*, group: str) -> list[EntryPoint]:
        return found if group == "esper.telemetry_outputs" else []

    monkeypatch.setattr(outputs, "entry_points", entry_points)


made: list["Kept"] = []


class Kept:
    """An output that somebody else wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.events = folder, list[Any]()
        made.append(self)

    def emit(self, event: Any) -> None:
        self.events.append(event)

    def close(self) -> None:
        pass


def germinated() -> TelemetryEvent:
    return TelemetryEvent(SeedGerminated(seed_id="s", blueprint="norm", params=3, alpha=0.0))


def test_an_output_of_another_package_gets_the_folder_and_every_event(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, kept=f"{__name__}:Kept")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Kept.__module__])
    output, event = make_output("kept", tmp_path), germinated()
    output.emit(event)
    output.close()
    assert (made[-1].folder, made[-1].events) == (tmp_path, [event])


def test_an_unknown_output_is_one_line_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, kept="somewhere:Kept")
    with pytest.raises(InputError) as caught:
        make_output("wandb", tmp_path)
    assert str(caught.value) == "--telemetry-outputs wandb: no such output; known are tensorboard, kept"


def test_an_output_that_cannot_be_loaded_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, bad="no_such_module_anywhere:Kept")
    with pytest.raises(
        InputError, match=r"--telemetry-outputs bad: cannot be loaded \(ModuleNotFoundError: "
    ):
        make_output("bad", tmp_path)


def test_without_tensorboard_its_output_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(InputError) as caught:
        make_output("tensorboard", tmp_path)
    assert str(caught.value) == (
        "TensorBoard is not installed; pip install tensorboard, or leave that output out"
    )


def test_numbers_become_curves_over_env_steps_and_rounds() -> None:
    contributions = TelemetryEvent(
        CounterfactualComputed(accuracies={}, contributions={"r0c0": 0.1}, interactions={}),
        round=2,
        epoch=3,
        env=1,
    )
    assert list(scalars(contributions, 8)) == [("env1/contribution/r0c0", 0.1, 19)]
    update = PPOUpdateCompleted(
        skipped=None,
        stopped_early=False,
        epochs=1,
        metrics={"entropy": 1.5, "approx_kl": math.nan},
        entropy_coef=0.02,
        grad_norm_surrogate=None,
        duration_s=0.1,
    )
    found = list(scalars(TelemetryEvent(update, round=4), 8))
    assert found == [("policy/entropy", 1.5, 4), ("policy/entropy_coef", 0.02, 4)]
    assert list(scalars(germinated(), 8)) == []


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    output = make_output("tensorboard", tmp_path / "run")
    output.emit(
        TelemetryEvent(
            CounterfactualComputed(accuracies={}, contributions={"a": 0.5}, interactions={}),
            round=0,
            epoch=1,
            env=0,
        )
    )
    output.emit(
        TelemetryEvent(
            RunCompleted(rounds=1, env_steps=1, best_accuracy=0.0, final_accuracy=0.0, duration_s=1.0)
        )
    )
    output.close()
    found = accumulator.EventAccumulator(str(tmp_path / "run")).Reload()
    assert [(event.step, event.value) for event in found.Scalars("env0/contribution/a")] == [(1, 0.5)]
