"""The plain engine: one env after the other, no streams, a forward pass for every configuration."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from esper.leyline import ClientProtocol
from esper.leyline.rollout import HostObservation, RolloutResult, SlotAction
from esper.tolaria.engine import PHASES
from esper.tolaria.env_state import EnvState, create_env_states
from esper.tolaria.execute import execute_actions
from esper.tolaria.hosts import begin_training, begin_validation, process_train_batch, process_val_batch
from esper.tolaria.losses import count_correct
from esper.tolaria.observe import observe_host
from esper.tolaria.runtime import timed
from esper.tolaria.setup import EngineSetup


class PlainEngine:
    """Does what `VectorizedEngine` does, slowly and readably, with the same bits: to look for faults with.

    Every env trains for a whole epoch and is validated before the next one's turn comes, on batches from an
    iterator of its own.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._env_states: list[EnvState] = []
        self._images = 0
        self._val_batches = {device: setup.batches([device]) for device in setup.placement.env_devices}

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts for an episode each, and do with their slots what the client says."""
        seconds = dict.fromkeys(PHASES, 0.0)
        client.begin_round(round_idx)
        self.begin_round(client, round_idx)
        for epoch in range(1, self._setup.episode_length + 1):
            client.begin_epoch(epoch)
            observations = []
            for env_state in self._env_states:
                with timed(seconds, "train"):
                    train_totals = self.train(client, env_state, epoch)
                with timed(seconds, "validate"):
                    val_totals = self.validate(client, env_state)
                with timed(seconds, "decide"):
                    observations.append(self.observe(client, env_state, train_totals, val_totals))
            with timed(seconds, "decide"):
                actions = client.choose_actions(observations)
            with timed(seconds, "act"):
                self.execute(client, actions)
        hosts = tuple(env_state.result() for env_state in self._env_states)
        self._env_states = []
        return RolloutResult(hosts, self._images, seconds)

    def begin_round(self, client: ClientProtocol, round_idx: int) -> None:
        """Make fresh hosts, and for each of them batches in its own order."""
        self._images = 0
        self._env_states = create_env_states(round_idx, self._setup, client)
        for env_state in self._env_states:
            env_state.stream = None
        self._train_batches = [
            self._setup.batches([env_state.device], [env_state.data_generator])
            for env_state in self._env_states
        ]

    def train(self, client: ClientProtocol, env_state: EnvState, epoch: int) -> list[float]:
        """One epoch of one host; summed losses and correct answers [2]."""
        begin_training(env_state, epoch)
        for batch_idx, [(inputs, targets)] in enumerate(self._train_batches[env_state.env_idx]):
            process_train_batch(
                env_state,
                inputs,
                targets,
                batch_idx,
                precision=self._setup.placement.precision,
                witness=client,
            )
        client.report_gradients([env_state.env_idx])
        self._images += self._setup.subject.data.train_size
        totals: list[float] = env_state.train_totals.tolist()
        return totals

    def validate(self, client: ClientProtocol, env_state: EnvState) -> list[float]:
        """One host in all the ways that the client compares, one after the other; summed loss of the first,
        then correct answers by configuration [1 + C].
        """
        precision, batches = self._setup.placement.precision, self._val_batches[env_state.device]
        begin_validation(env_state, client)
        for [(inputs, targets)] in batches:
            process_val_batch(env_state, inputs, targets, precision=precision)
        for index, configuration in enumerate(env_state.configurations[1:], start=1):
            for [(inputs, targets)] in batches:
                with torch.inference_mode():
                    with precision.autocast(env_state.device):
                        [logits] = env_state.model.fused_forward(inputs, [configuration])
                    env_state.val_totals[1 + index] += count_correct(logits, targets)
        self._images += self._setup.subject.data.val_size
        totals: list[float] = env_state.val_totals.tolist()
        return totals

    def observe(
        self,
        client: ClientProtocol,
        env_state: EnvState,
        train_totals: Sequence[float],
        val_totals: Sequence[float],
    ) -> HostObservation:
        """What the epoch came to."""
        data = self._setup.subject.data
        return observe_host(env_state, train_totals, val_totals, data=data, client=client)

    def execute(self, client: ClientProtocol, actions: Sequence[SlotAction]) -> None:
        """Do what was chosen, env by env."""
        execute_actions(self._env_states, actions, task_spec=self._setup.subject.task_spec, client=client)
