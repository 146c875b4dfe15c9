"""A small trainer of the shape that the tool was made for: one public function with nine helpers."""

SOURCE = '''\
"""A trainer in one file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pkg.parts import Hub, Signals, get_hub

if TYPE_CHECKING:
    from pkg.parts import Task

THRESHOLD = 3


@dataclass
class EnvState:
    """One env."""

    index: int
    events: list[str] = field(default_factory=list)


def _emit(hub: Hub, env_state: EnvState, text: str) -> None:
    hub.emit(f"{env_state.index}: {text}")


def train(task: Task, *, n_envs: int = 2, verbose: bool = True, slots: Sequence[str] | None = None) -> str:
    """Train on a task."""
    import math as maths

    from pkg.models import create_model

    if slots is None:
        slots = ("a", "b")
    hub = get_hub()
    dtype: str = "float32"
    states: list[EnvState] = []

    def make_telemetry_callback(env_state: EnvState) -> Callable[[str], None]:
        """A callback for one env."""

        def on_event(text: str) -> None:
            if verbose:
                _emit(hub, env_state, text)

        return on_event

    def configure_slot_telemetry(env_state: EnvState, model: object) -> None:
        model.on_event = make_telemetry_callback(env_state)  # type: ignore[attr-defined]

    # Models are made here, one per env.
    def create_env_state(index: int) -> EnvState:
        """A fresh env.

        Its model reports to the hub.
        """
        env_state = EnvState(index)
        model = create_model(task, dtype)
        configure_slot_telemetry(env_state, model)
        model.on_event("created")
        return env_state

    @contextlib.contextmanager
    def _collect_telemetry_for_batch(env_state: EnvState):
        hub.emit(f"{task.name}: batch")
        yield env_state
        hub.emit(f"{task.name}: batch done")

    def _parse_sampled_action(value: float) -> str:
        return slots[maths.floor(value) % len(slots)]

    def process_train_batch(env_state: EnvState, batch: list[float]) -> float:
        with _collect_telemetry_for_batch(env_state) as state:
            total = sum(batch) * task.scale
            if total > THRESHOLD:
                state.events.append(f"""big
    {total}""")
        return total

    def process_val_batch(batch: list[float]) -> float:
        return max(batch, default=0.0) * task.scale

    def process_fused_val_batch(env_state: EnvState, batch: list[float]) -> list[float]:
        return [process_val_batch(batch[i:]) for i in range(len(slots))]

    def batch_signals_to_features(signals: Sequence[Signals]) -> str:
        return json.dumps([signal.value for signal in signals])

    for index in range(n_envs):
        states.append(create_env_state(index))
    results = []
    for state in states:
        results.append(process_train_batch(state, [1.0, 2.0]))
        results.extend(process_fused_val_batch(state, [1.0, 2.0]))
        results.append(_parse_sampled_action(results[-1]))
    features = batch_signals_to_features([Signals(n_envs)])
    return json.dumps([results, features, hub.seen, [state.events for state in states]])
'''

_PARTS = '''\
"""What the trainer uses."""

from dataclasses import dataclass


@dataclass
class Task:
    name: str = "task"
    scale: float = 2.0


@dataclass
class Signals:
    value: int


class Hub:
    def __init__(self):
        self.seen = []

    def emit(self, text):
        self.seen.append(text)


_HUB = Hub()


def get_hub():
    return _HUB
'''

_MODELS = '''\
"""Models."""


class Model:
    on_event = None


def create_model(task, dtype):
    return Model()
'''

PLAN = """\
version = 1
source = "pkg/vectorized.py"
function = "train"
root = "pkg"

[[move]]
to = "env_factory.py"
docstring = "Make envs."
names = ["make_telemetry_callback", "configure_slot_telemetry", "create_env_state"]

[[move]]
to = "batch_ops.py"
docstring = "Train and validate batches."
names = [
    "_collect_telemetry_for_batch",
    "process_train_batch", "process_val_batch", "batch_signals_to_features",
]
rename = { _collect_telemetry_for_batch = "collect_telemetry" }

[[move]]
to = "evaluation.py"
names = ["process_fused_val_batch"]

[[move]]
to = "actions.py"
names = ["_parse_sampled_action"]
"""

_RUN = """\
from pkg.parts import Task
from pkg.vectorized import train
print(train(Task(), n_envs=3))
"""
FILES = {
    "pyproject.toml": "",
    "pkg/__init__.py": "",
    "pkg/vectorized.py": SOURCE,
    "pkg/parts.py": _PARTS,
    "pkg/models.py": _MODELS,
    "plan.toml": PLAN,
    "run.py": _RUN,
}
