"""Messages between an engine, which trains hosts, and its client, which decides about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from esper.leyline.actions import FactoredAction, LifecycleOp
from esper.leyline.slots import SeedStateReport, TrainingSignals
from esper.leyline.telemetry import EpochCompleted, GovernorRollback, HostGradientNorms, Payload

if TYPE_CHECKING:
    from torch import Tensor

Configuration = Mapping[str, float]
"""A way to run a host: the alpha to use, by slot; a slot that is left out keeps its own."""


@dataclass(frozen=True, slots=True)
class SlotChange:
    """Something happened in a slot."""

    slot_id: str
    payload: Payload


HostEvent = SlotChange | GovernorRollback
"""What happens in a host besides training; an engine keeps it, by env and in order, until it tells."""


@dataclass(frozen=True, slots=True)
class HostObservation:
    """State of one env when its next action is chosen.

    `metrics` and `measured`, reports of the seeds, are of the host as it was validated. Where it broke and
    was `rolled_back`, `signals` and `reports` are of the host that took its place. `before` are the signals
    of the epoch before, None in the first. `gradients` are there if they were asked for; `events` are what
    happened since the last action, a rollback among them.
    """

    metrics: EpochCompleted
    measured: Mapping[str, SeedStateReport]
    before: TrainingSignals | None
    signals: TrainingSignals
    reports: Mapping[str, SeedStateReport]
    rolled_back: bool
    gradients: HostGradientNorms | None
    events: tuple[HostEvent, ...]


@dataclass(frozen=True, slots=True)
class SlotAction:
    """Action on a slot of one host: `op`, with what the heads of `action` chose. A wait has no slot."""

    op: LifecycleOp
    slot_id: str | None
    action: FactoredAction


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """Outcome of an action: its effect, the seeds after it and after the slots' tick, and the events."""

    success: bool
    reports: Mapping[str, SeedStateReport]
    events: tuple[HostEvent, ...]


@dataclass(frozen=True, slots=True)
class HostResult:
    """Result of one env at the end of its episode. Accuracies are fractions."""

    final_accuracy: float
    best_accuracy: float
    germinated: int
    fossilized: int
    pruned: int
    rollbacks: int
    total_params: int


@dataclass(frozen=True, slots=True)
class RolloutResult:
    """One round: every env's result, the images that hosts saw, and seconds by phase."""

    hosts: tuple[HostResult, ...]
    images: int
    phase_s: dict[str, float]


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
    """Decides what is done with hosts. An engine's client is always asked of all hosts at once, in the order
    of envs, whatever they are trained by and where.
    """

    def begin_round(self, round_idx: int) -> None:
        """Fresh hosts are about to be made."""
        ...

    def begin_epoch(self, epoch: int) -> int | None:
        """All hosts are about to train for an epoch, counted from 1. The answer: of every how many
        batches to measure the gradients, or None.
        """
        ...

    def choose_configurations(
        self, contributing_slots: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[Configuration]]:
        """How to run every host in this epoch's validation, by the slots whose seeds change its output: as it
        is first, then the ways to compare.
        """
        ...

    def measure_contributions(self, accuracies: Sequence[Sequence[float]]) -> Sequence[Mapping[str, float]]:
        """Return each seed's contribution by slot, where known, from all accuracies in these ways."""
        ...

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        """One action for every host."""
        ...


@runtime_checkable
class RewardProtocol(Protocol):
    """Judges what became of actions."""

    def reward_actions(self, outcomes: Sequence[ActionOutcome]) -> None:
        """The actions of all hosts were carried out."""
        ...


class ClientProtocol(PolicyProtocol, RewardProtocol, Protocol):
    """All that an engine asks of its client."""


@runtime_checkable
class EngineProtocol(Protocol):
    """Trains hosts."""

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts for an episode each, and do with their slots what the client says."""
        ...


@runtime_checkable
class SharedEngineProtocol(EngineProtocol, Protocol):
    """Trains hosts together with engines of other processes: one leads, where the client is; the others
    follow.
    """

    @property
    def leads(self) -> bool:
        """True on the rank where rollouts begin."""
        ...

    def follow(self) -> None:
        """Where it does not lead: take part in all rollouts until the leading engine is closed."""
        ...

    def close(self) -> None:
        """Where it leads: there are no more rollouts."""
        ...
