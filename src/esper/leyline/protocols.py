"""What the packages expect of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from esper.leyline.rollout import (
        ActionOutcome,
        Configuration,
        HostObservation,
        RolloutResult,
        SlotAction,
    )


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
        """What each seed adds, by slot as far as it is known, from every host's accuracies in these ways."""
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
        """Whether rollouts begin here."""
        ...

    def follow(self) -> None:
        """Where it does not lead: take part in all rollouts until the leading engine is closed."""
        ...

    def close(self) -> None:
        """Where it leads: there are no more rollouts."""
        ...
