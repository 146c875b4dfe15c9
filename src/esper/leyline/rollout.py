"""What an engine, which trains hosts, and its client, which decides about them, tell each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from esper.leyline.actions import FactoredAction, LifecycleOp
from esper.leyline.reports import SeedStateReport, TrainingSignals
from esper.leyline.telemetry import EpochCompleted, GovernorRollback, HostGradientNorms, Payload

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
    """What is known of one env when its next action is chosen.

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
    """What to do with a slot of one host: `op`, with what the heads of `action` chose. A wait has no slot."""

    op: LifecycleOp
    slot_id: str | None
    action: FactoredAction


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """Whether an action had an effect, the seeds after it and after the slots' tick, and what happened."""

    success: bool
    reports: Mapping[str, SeedStateReport]
    events: tuple[HostEvent, ...]


@dataclass(frozen=True, slots=True)
class HostResult:
    """What one env came to at the end of its episode. Accuracies are fractions."""

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
