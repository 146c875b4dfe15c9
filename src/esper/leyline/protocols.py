"""What the packages expect of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor, nn

    from esper.leyline.rollout import (
        ActionOutcome,
        Configuration,
        HostObservation,
        RolloutResult,
        SlotAction,
    )
    from esper.leyline.telemetry import GovernorRollback, Payload


@runtime_checkable
class SlottedHostProtocol(Protocol):
    """A network cut into segments, with a slot after each but the last.

    `run_segment(0, inputs)` gives the features that enter the first slot; the last segment gives the logits.
    Features are [batch, channels, height, width], or [batch, tokens, channels] where the host's
    `SlotConfig` says "transformer".
    """

    slot_ids: tuple[str, ...]
    slot_channels: Mapping[str, int]

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Features of a segment, or of the last one logits [batch, classes] or [batch, tokens, classes]."""
        ...


@runtime_checkable
class PolicyProtocol(Protocol):
    """Decides what is done with hosts; an engine's client sees all of them at once, by index."""

    def begin_round(self, round_idx: int) -> None:
        """Fresh hosts are about to be made."""
        ...

    def begin_epoch(self, epoch: int) -> None:
        """All hosts are about to train for an epoch, counted from 1."""
        ...

    def choose_configurations(
        self, env_idx: int, contributing_slots: Sequence[str]
    ) -> Sequence[Configuration]:
        """How to run a host in this epoch's validation: as it is first, then the ways to compare."""
        ...

    def measure_contributions(self, env_idx: int, accuracies: Sequence[float]) -> Mapping[str, float]:
        """What each seed adds, by slot as far as it is known, from the accuracies of these ways in order."""
        ...

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        """One action for every env, which the engine then carries out in this order."""
        ...


@runtime_checkable
class RewardProtocol(Protocol):
    """Judges what became of actions."""

    def reward_action(self, env_idx: int, outcome: ActionOutcome) -> None:
        """An env's action was carried out, and no later env's yet."""
        ...

    def end_step(self) -> None:
        """The actions of all envs were carried out."""
        ...


class SeededHostProtocol(Protocol):
    """Whose gradients can be watched: a host's, and those of the seeds in its slots."""

    def live_slots(self) -> tuple[str, ...]:
        """Slots in which a module sits."""
        ...

    def host_parameters(self) -> list[nn.Parameter]:
        """The parameters of the host alone."""
        ...

    def seed_parameters(self, slot_id: str) -> list[nn.Parameter]:
        """The parameters of the seed in a slot."""
        ...


@runtime_checkable
class WitnessProtocol(Protocol):
    """Is told what happens in hosts."""

    def watch_gradients(self, env_idx: int, batch_idx: int, model: SeededHostProtocol) -> None:
        """A batch's gradients are there, and not applied yet. Must not wait for the device."""
        ...

    def report_gradients(self, env_indices: Sequence[int]) -> None:
        """Some hosts have trained for an epoch, and their devices are done."""
        ...

    def slot_changed(self, env_idx: int, slot_id: str, payload: Payload) -> None:
        """Something happened in a slot."""
        ...

    def rolled_back(self, env_idx: int, payload: GovernorRollback) -> None:
        """A host that broke was replaced by an earlier state of it."""
        ...


class ClientProtocol(PolicyProtocol, RewardProtocol, WitnessProtocol, Protocol):
    """All that an engine asks of its client."""


@runtime_checkable
class EngineProtocol(Protocol):
    """Trains hosts."""

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts for an episode each, and do with their slots what the client says."""
        ...
