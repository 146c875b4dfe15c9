"""Runs the trainer on tiny settings and collects its events."""

from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from esper.leyline.telemetry import TelemetryEvent
from esper.nissa import TelemetryHub, event_record
from esper.runtime import get_task_spec
from esper.simic.training import vectorized
from esper.simic.training.config import TrainingConfig
from tests.esper.records import stable

Events = list[dict[str, Any]]
Run = Callable[..., tuple[Events, Any]]


@pytest.fixture
def trainer() -> ModuleType:
    """The module under test; tests replace names in it."""
    return vectorized


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def emitted() -> list[TelemetryEvent]:
    """What the last run emitted, with what cannot repeat."""
    return []


@pytest.fixture
def run(trainer: ModuleType, monkeypatch: pytest.MonkeyPatch, emitted: list[TelemetryEvent]) -> Run:
    """Trains with some settings changed; gives the events, without what cannot repeat, and the result."""

    def train(**settings: Any) -> tuple[Events, Any]:
        tiny = {
            "task": "cifar_minimal",
            "rounds": 1,
            "envs": 1,
            "episode_length": 6,
            "train_images": 96,
            "val_images": 48,
        }
        config = TrainingConfig(**(tiny | settings))
        hub = TelemetryHub()
        monkeypatch.setattr(trainer, "get_hub", lambda: hub)
        emitted.clear()
        with hub.attached(SimpleNamespace(emit=emitted.append, close=lambda: None)):
            result = trainer.train_ppo_vectorized(config, get_task_spec(config.task))
        return [stable(event_record(event)) for event in emitted], result

    return train


def of_type(events: Events, *names: str) -> Events:
    """The events of some types."""
    return [event for event in events if event["event_type"] in names]
