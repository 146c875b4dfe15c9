"""Engines by name, and the one that trains envs one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points

import torch

from esper.leyline import ClientProtocol, EngineProtocol
from esper.leyline.errors import InputError
from esper.leyline.rollout import Configuration, RolloutResult
from esper.leyline.telemetry import HostGradientNorms
from esper.tolaria.distributed_engine import DistributedEngine
from esper.tolaria.engine import PHASES, VectorizedEngine
from esper.tolaria.gradients import take_gradients
from esper.tolaria.hosts import (
    begin_training,
    begin_validation,
    end_epoch,
    execute_actions,
    measured_accuracies,
    process_train_batch,
    process_val_batch,
)
from esper.tolaria.models import count_correct
from esper.tolaria.runtime import PhaseTimer
from esper.tolaria.setup import EngineSetup, HostState, create_host_states


class PlainEngine:
    """Does what `VectorizedEngine` does, slowly and readably, with the same bits: to look for faults with.

    Every env trains for a whole epoch before the next one's turn comes, on batches from an iterator of its
    own; then each is validated in turn.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._env_states: list[HostState] = []
        self._images = 0
        self._val_batches = {device: setup.batches([device]) for device in setup.devices}

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts for an episode each, and do with their slots what the client says."""
        timed = PhaseTimer(self._setup.placement.policy_device, PHASES)
        client.begin_round(round_idx)
        self.make_hosts(round_idx)
        data, env_states = self._setup.subject.data, self._env_states
        for epoch in range(1, self._setup.episode_length + 1):
            stride = client.begin_epoch(epoch)
            with timed("train"):
                trained = [self.train(env_state, epoch, stride) for env_state in env_states]
            with timed("validate"):
                contributing = [env_state.model.contributing_slots() for env_state in env_states]
                ways = client.choose_configurations(contributing)
                val_totals = [
                    self.validate(env_state, of_env)
                    for env_state, of_env in zip(env_states, ways, strict=True)
                ]
            with timed("decide"):
                accuracies = [measured_accuracies(totals, data) for totals in val_totals]
                contributions = client.measure_contributions(accuracies)
                observations = [
                    end_epoch(env_state, train_totals, totals, adds, gradients, data=data)
                    for env_state, (train_totals, gradients), totals, adds in zip(
                        env_states, trained, val_totals, contributions, strict=True
                    )
                ]
                actions = client.choose_actions(observations)
            with timed("act"):
                task_spec = self._setup.subject.task_spec
                client.reward_actions(execute_actions(env_states, actions, task_spec=task_spec))
        self._env_states = []
        hosts = tuple(env_state.result() for env_state in env_states)
        return RolloutResult(hosts, self._images, timed.seconds())

    def make_hosts(self, round_idx: int) -> None:
        """Fresh hosts, and for each of them batches in its own order."""
        self._images = 0
        self._env_states = create_host_states(round_idx, self._setup)
        for env_state in self._env_states:
            env_state.stream = None
        self._train_batches = {
            env_state.env_idx: self._setup.batches([env_state.device], [env_state.data_generator])
            for env_state in self._env_states
        }

    def train(
        self, env_state: HostState, epoch: int, stride: int | None
    ) -> tuple[list[float], HostGradientNorms | None]:
        """One epoch of one host; summed losses and correct answers [2], and the gradients of every so many
        batches.
        """
        begin_training(env_state, epoch)
        for batch_idx, [(inputs, targets)] in enumerate(self._train_batches[env_state.env_idx]):
            watched = stride is not None and batch_idx % stride == 0
            precision = self._setup.placement.precision
            process_train_batch(env_state, inputs, targets, precision=precision, watched=watched)
        gradients = None
        if stride is not None:
            [gradients] = take_gradients([env_state], self._setup.placement.policy_device)
        self._images += self._setup.subject.data.train_size
        totals: list[float] = env_state.train_totals.tolist()
        return totals, gradients

    def validate(self, env_state: HostState, configurations: Sequence[Configuration]) -> list[float]:
        """One host in all the ways that the client compares, one after the other; summed loss of the first,
        then correct answers by configuration [1 + C].
        """
        precision, batches = self._setup.placement.precision, self._val_batches[env_state.device]
        begin_validation(env_state, configurations)
        for [(inputs, targets)] in batches:
            process_val_batch(env_state, inputs, targets, precision=precision)
        for index, configuration in enumerate(configurations[1:], start=1):
            for [(inputs, targets)] in batches:
                with torch.inference_mode():
                    with precision.autocast(env_state.device):
                        [logits] = env_state.model.fused_forward(inputs, [configuration])
                    env_state.val_totals[1 + index] += count_correct(logits, targets)
        self._images += self._setup.subject.data.val_size
        totals: list[float] = env_state.val_totals.tolist()
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
    """What makes the engine of a name. Raises InputError for an unknown one, or one that can't be loaded."""
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
