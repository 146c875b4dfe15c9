"""The engine that trains the hosts of all envs side by side, each on a stream of its own."""

from __future__ import annotations

from collections.abc import Sequence

from esper.leyline import ClientProtocol
from esper.leyline.rollout import HostObservation, RolloutResult, SlotAction
from esper.tolaria.env_state import EnvState, create_env_states
from esper.tolaria.execute import execute_actions
from esper.tolaria.hosts import (
    begin_training,
    begin_validation,
    process_fused_val_batch,
    process_train_batch,
    process_val_batch,
)
from esper.tolaria.observe import observe_host
from esper.tolaria.runtime import synchronise, timed, to_host
from esper.tolaria.setup import EngineSetup

PHASES = ("train", "validate", "decide", "act")
"""What a rollout's time is spent on."""


class VectorizedEngine:
    """Owns data, env states, streams and loss scalers; who decides, and what that is worth, is its client's.

    Batches come first, then envs. The host waits for devices once after training and once after validation,
    and reads what they have summed up in one transfer for all envs.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._env_states: list[EnvState] = []
        self._images = 0
        self._val_batches = setup.batches(setup.placement.env_devices)

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts for an episode each, and do with their slots what the client says."""
        seconds = dict.fromkeys(PHASES, 0.0)
        client.begin_round(round_idx)
        self.begin_round(client, round_idx)
        for epoch in range(1, self._setup.episode_length + 1):
            client.begin_epoch(epoch)
            with timed(seconds, "train"):
                train_totals = self.train(client, epoch)
            with timed(seconds, "validate"):
                val_totals = self.validate(client)
            with timed(seconds, "decide"):
                observations = self.observe(client, train_totals, val_totals)
                actions = client.choose_actions(observations)
            with timed(seconds, "act"):
                self.execute(client, actions)
        hosts = tuple(env_state.result() for env_state in self._env_states)
        self._env_states = []
        return RolloutResult(hosts, self._images, seconds)

    def begin_round(self, client: ClientProtocol, round_idx: int) -> None:
        """Make fresh hosts, and batches that follow each env's own order."""
        self._images = 0
        self._env_states = create_env_states(round_idx, self._setup, client)
        self._train_batches = self._setup.batches(
            self._setup.placement.env_devices, [env_state.data_generator for env_state in self._env_states]
        )

    def train(self, client: ClientProtocol, epoch: int) -> list[list[float]]:
        """One epoch of every host, batch first, then envs; summed losses and correct answers [envs][2]."""
        env_states, precision = self._env_states, self._setup.placement.precision
        for env_state in env_states:
            begin_training(env_state, epoch)
        for batch_idx, env_batches in enumerate(self._train_batches):
            for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
                process_train_batch(
                    env_state, inputs, targets, batch_idx, precision=precision, witness=client
                )
        synchronise([env_state.stream for env_state in env_states])
        client.report_gradients(range(len(env_states)))
        self._images += len(env_states) * self._setup.subject.data.train_size
        return to_host(
            [env_state.train_totals for env_state in env_states], self._setup.placement.policy_device
        )

    def validate(self, client: ClientProtocol) -> list[list[float]]:
        """Every host as it is and, in the same pass, in the other ways that the client compares it with;
        summed loss, then correct answers by configuration [envs][1 + C].
        """
        env_states, precision = self._env_states, self._setup.placement.precision
        for env_state in env_states:
            begin_validation(env_state, client)
        for env_batches in self._val_batches:
            for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
                if len(env_state.configurations) > 1:
                    process_fused_val_batch(env_state, inputs, targets, precision=precision)
                else:
                    process_val_batch(env_state, inputs, targets, precision=precision)
        synchronise([env_state.stream for env_state in env_states])
        self._images += len(env_states) * self._setup.subject.data.val_size
        return to_host(
            [env_state.val_totals for env_state in env_states], self._setup.placement.policy_device
        )

    def observe(
        self,
        client: ClientProtocol,
        train_totals: Sequence[Sequence[float]],
        val_totals: Sequence[Sequence[float]],
    ) -> list[HostObservation]:
        """What the epoch came to in every env."""
        data = self._setup.subject.data
        totals = zip(self._env_states, train_totals, val_totals, strict=True)
        return [observe_host(*parts, data=data, client=client) for parts in totals]

    def execute(self, client: ClientProtocol, actions: Sequence[SlotAction]) -> None:
        """Do what was chosen, env by env."""
        execute_actions(self._env_states, actions, task_spec=self._setup.subject.task_spec, client=client)
