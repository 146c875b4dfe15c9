"""Engines by name, and the one that trains envs one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points

import torch

from esper.leyline import EngineProtocol
from esper.leyline.errors import InputError
from esper.leyline.rollout import Configuration
from esper.leyline.telemetry import HostGradientNorms
from esper.tolaria.distributed_engine import DistributedEngine
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.gradients import take_gradients
from esper.tolaria.hosts import begin_training, begin_validation, process_train_batch, process_val_batch
from esper.tolaria.models import count_correct
from esper.tolaria.setup import EngineSetup


class PlainEngine(VectorizedEngine):
    """Does what `VectorizedEngine` does, slowly and readably, with the same bits: to look for faults with.

    Every env trains for a whole epoch before the next one's turn comes, on batches from an iterator of its
    own and without a stream; then each is validated in turn, in one configuration after the other.
    """

    def make_hosts(self, round_idx: int) -> None:
        """Fresh hosts, and for each of them batches in its own order."""
        super().make_hosts(round_idx)
        for env_state in self._env_states:
            env_state.stream = None
        self._batches_of = {
            env_state.env_idx: (
                self._setup.batches([env_state.device], [env_state.data_generator]),
                self._setup.batches([env_state.device]),
            )
            for env_state in self._env_states
        }

    def train(
        self, epoch: int, stride: int | None
    ) -> tuple[list[list[float]], Sequence[HostGradientNorms | None]]:
        """One epoch of every host, one host after the other; as `VectorizedEngine.train` gives it."""
        totals: list[list[float]] = []
        gradients: list[HostGradientNorms | None] = []
        for env_state in self._env_states:
            begin_training(env_state, epoch)
            for batch_idx, [(inputs, targets)] in enumerate(self._batches_of[env_state.env_idx][0]):
                watched = stride is not None and batch_idx % stride == 0
                precision = self._setup.placement.precision
                process_train_batch(env_state, inputs, targets, precision=precision, watched=watched)
            device = self._setup.placement.policy_device
            gradients += [None] if stride is None else take_gradients([env_state], device)
            self._images += self._setup.subject.data.train_size
            totals.append(env_state.train_totals.tolist())
        return totals, gradients

    def validate(self, configurations: Sequence[Sequence[Configuration]]) -> list[list[float]]:
        """Every host in all the ways that the client compares, one after the other; as
        `VectorizedEngine.validate` gives it.
        """
        totals: list[list[float]] = []
        for env_state, of_host in zip(self._env_states, configurations, strict=True):
            precision, batches = self._setup.placement.precision, self._batches_of[env_state.env_idx][1]
            begin_validation(env_state, of_host)
            for [(inputs, targets)] in batches:
                process_val_batch(env_state, inputs, targets, precision=precision)
            for index, configuration in enumerate(of_host[1:], start=1):
                for [(inputs, targets)] in batches:
                    with torch.inference_mode():
                        with precision.autocast(env_state.device):
                            [logits] = env_state.model.fused_forward(inputs, [configuration])
                        env_state.val_totals[1 + index] += count_correct(logits, targets)
            self._images += self._setup.subject.data.val_size
            totals.append(env_state.val_totals.tolist())
        return totals


GROUP = "esper.engines"
"""Entry points of this group are functions from an `EngineSetup` to an engine."""

MakeEngine = Callable[[EngineSetup], EngineProtocol]

ENGINES: Mapping[str, MakeEngine] = {
    "vectorized": VectorizedEngine,
    "plain": PlainEngine,
    "distributed": DistributedEngine,
}
"""What trains the hosts, for every value of `--engine` of our own; all with the same bits."""


def find_engine(name: str) -> MakeEngine:
    """Return the factory of an engine. Raises InputError for an unknown one, or one that can't be loaded."""
    if name in ENGINES:
        return ENGINES[name]
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join([*ENGINES, *sorted(found)])
        raise InputError(f"--engine {name}: no such engine; known are {known}")
    try:
        make: MakeEngine = found[name].load()
    except Exception as error:  # whatever a foreign module raises when it is imported
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"--engine {name}: cannot be loaded ({problem})") from error
    return make
