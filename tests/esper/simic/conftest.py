"""Runs the trainer on tiny settings and collects its events."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

from esper.nissa import TelemetryHub, event_record
from esper.runtime import get_task_spec
from esper.simic.training import vectorized
from esper.simic.training.config import TrainingConfig
from tests.esper.records import stable

Events = list[dict[str, Any]]
Run = Callable[..., tuple[Events, Any]]


class Collected:
    """An output that keeps events, without what cannot repeat."""

    def __init__(self) -> None:
        self.events: Events = []

    def emit(self, event: Any) -> None:
        self.events.append(stable(event_record(event)))

    def close(self) -> None:
        """Nothing to close."""


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
def run(trainer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Trains with some settings changed; gives the events and the result."""

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
        hub, collected = TelemetryHub(), Collected()
        monkeypatch.setattr(trainer, "get_hub", lambda: hub)
        with hub.attached(collected):
            result = trainer.train_ppo_vectorized(config, get_task_spec(config.task))
        return collected.events, result

    return train


def of_type(events: Events, *names: str) -> Events:
    """The events of some types."""
    return [event for event in events if event["event_type"] in names]
