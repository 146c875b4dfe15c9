"""The engine that trains the hosts of all envs side by side, each on a stream of its own."""

from __future__ import annotations

from collections.abc import Sequence

from esper.leyline import ClientProtocol
from esper.leyline.rollout import (
    ActionOutcome,
    Configuration,
    HostObservation,
    RolloutResult,
    SlotAction,
)
from esper.leyline.telemetry import HostGradientNorms
from esper.tolaria.gradients import take_gradients
from esper.tolaria.hosts import (
    begin_training,
    begin_validation,
    end_epoch,
    execute_actions,
    measured_accuracies,
    process_fused_val_batch,
    process_train_batch,
    process_val_batch,
)
from esper.tolaria.runtime import PhaseTimer, synchronise, to_host
from esper.tolaria.setup import EngineSetup, HostState, create_host_states

PHASES = ("train", "validate", "decide", "act")
"""What a rollout's time is spent on; each ends with the devices' work read."""


class VectorizedEngine:
    """Owns data, env states, streams and loss scalers; who decides, and what that is worth, is its client's.

    Batches come first, then envs. The host waits for devices once after training and once after validation,
    and reads what they have summed up in one transfer for all envs.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._env_states: list[HostState] = []
        self._images = 0
        self._val_batches = setup.batches(setup.devices)

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts for an episode each, and do with their slots what the client says."""
        timed = PhaseTimer(self._setup.placement.policy_device, PHASES)
        client.begin_round(round_idx)
        self.make_hosts(round_idx)
        for epoch in range(1, self._setup.episode_length + 1):
            stride = client.begin_epoch(epoch)
            with timed("train"):
                train_totals, gradients = self.train(epoch, stride)
            with timed("validate"):
                contributing = [env_state.model.contributing_slots() for env_state in self._env_states]
                val_totals = self.validate(client.choose_configurations(contributing))
            with timed("decide"):
                actions = client.choose_actions(self.observe(client, train_totals, val_totals, gradients))
            with timed("act"):
                client.reward_actions(self.execute(actions))
        hosts = tuple(env_state.result() for env_state in self._env_states)
        self._env_states = []
        return RolloutResult(hosts, self._images, timed.seconds())

    def make_hosts(self, round_idx: int) -> None:
        """Fresh hosts, and batches that follow each env's own order."""
        self._images = 0
        self._env_states = create_host_states(round_idx, self._setup)
        self._train_batches = self._setup.batches(
            self._setup.devices, [env_state.data_generator for env_state in self._env_states]
        )

    def train(
        self, epoch: int, stride: int | None
    ) -> tuple[list[list[float]], Sequence[HostGradientNorms | None]]:
        """One epoch of every host, batch first, then envs; summed losses and correct answers [envs][2], and
        what the gradients were every `stride` batches.
        """
        env_states, placement = self._env_states, self._setup.placement
        for env_state in env_states:
            begin_training(env_state, epoch)
        for batch_idx, env_batches in enumerate(self._train_batches):
            watched = stride is not None and batch_idx % stride == 0
            for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
                process_train_batch(
                    env_state,
                    inputs,
                    targets,
                    precision=placement.precision,
                    watched=watched,
                    parts=self._setup.parts,
                )
        synchronise([env_state.stream for env_state in env_states])
        if self._setup.parts is not None:
            self._setup.parts.sum([env_state.train_totals for env_state in env_states])
        self._images += len(env_states) * self._setup.subject.data.train_size
        gradients: Sequence[HostGradientNorms | None] = [None] * len(env_states)
        if stride is not None:
            gradients = take_gradients(env_states, placement.policy_device)
        totals = to_host([env_state.train_totals for env_state in env_states], placement.policy_device)
        return totals, gradients

    def validate(self, configurations: Sequence[Sequence[Configuration]]) -> list[list[float]]:
        """Every host as it is and, in the same pass, in the other ways that the client compares it with;
        summed loss, then correct answers by configuration [envs][1 + C].
        """
        env_states, precision, parts = self._env_states, self._setup.placement.precision, self._setup.parts
        for env_state, of_host in zip(env_states, configurations, strict=True):
            begin_validation(env_state, of_host)
        for env_batches in self._val_batches:
            for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
                if len(env_state.configurations) > 1:
                    process_fused_val_batch(env_state, inputs, targets, precision=precision, parts=parts)
                else:
                    process_val_batch(env_state, inputs, targets, precision=precision, parts=parts)
        synchronise([env_state.stream for env_state in env_states])
        if parts is not None:
            parts.sum([env_state.val_totals for env_state in env_states])
        self._images += len(env_states) * self._setup.subject.data.val_size
        return to_host(
            [env_state.val_totals for env_state in env_states], self._setup.placement.policy_device
        )

    def observe(
        self,
        client: ClientProtocol,
        train_totals: Sequence[Sequence[float]],
        val_totals: Sequence[Sequence[float]],
        gradients: Sequence[HostGradientNorms | None],
    ) -> list[HostObservation]:
        """Return the observation of the epoch in every env."""
        data = self._setup.subject.data
        contributions = client.measure_contributions(
            [measured_accuracies(totals, data) for totals in val_totals]
        )
        hosts = zip(self._env_states, train_totals, val_totals, contributions, gradients, strict=True)
        return [end_epoch(*of_host, data=data) for of_host in hosts]

    def execute(self, actions: Sequence[SlotAction]) -> list[ActionOutcome]:
        """Do what was chosen, env by env."""
        task_spec, parts = self._setup.subject.task_spec, self._setup.parts
        return execute_actions(self._env_states, actions, task_spec=task_spec, parts=parts)
