"""Slots, the stages of a seed, the course of its alpha, their limits, and what a decision-maker is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

MIN_PRUNE_AGE = 1
"""Epochs a seed must have lived before it may be pruned."""

DEFAULT_EMBARGO_EPOCHS = 5
"""Epochs a slot stays closed after a prune, so that growing and pruning can't alternate."""

DEFAULT_MIN_TRAINING_EPOCHS = 1
"""Epochs in TRAINING before a seed may start to blend."""

DEFAULT_MIN_FOSSILIZE_CONTRIBUTION = 0.01
"""Contribution (fraction of validation accuracy) under which fossilizing earns nothing."""

DEFAULT_GOVERNOR_SENSITIVITY = 6.0
"""Standard deviations above the recent mean at which a validation loss is an outlier."""

DEFAULT_GOVERNOR_ABSOLUTE_THRESHOLD = 12.0
"""Validation loss that is a panic whatever the history says."""

DEFAULT_GOVERNOR_COLLAPSE_RATIO = 0.5
"""A loss above chance level while accuracy fell under this share of its best is a collapse."""

DEFAULT_GOVERNOR_DEATH_PENALTY = 1.0
"""Subtracted from the reward of the step whose host had to be rolled back."""

DEFAULT_GOVERNOR_HISTORY_WINDOW = 20
"""Epochs of loss history that outliers are judged against."""

DEFAULT_GOVERNOR_MIN_HISTORY = 5
"""Epochs of history before an outlier is judged at all."""

DEFAULT_GOVERNOR_MIN_PANICS = 2
"""Consecutive panics before a rollback; NaN and infinity roll back at once."""

HISTORY_LENGTH = 5
"""Epochs of loss and accuracy history that the policy sees."""


class AlphaMode(IntEnum):
    """Which way a slot's alpha is moving."""

    HOLD = 0
    UP = 1
    DOWN = 2


class AlphaCurve(IntEnum):
    """The shape of an alpha schedule over its steps."""

    LINEAR = 0
    COSINE = 1
    SIGMOID = 2


class BlendMode(IntEnum):
    """How a seed's output joins the host's features."""

    ADD = 0
    MULTIPLY = 1
    GATE = 2


class SeedStage(IntEnum):
    """Where a slot stands; the value is the column of the stage in the observation's one-hot."""

    DORMANT = 0
    GERMINATED = 1
    TRAINING = 2
    BLENDING = 3
    HOLDING = 4
    FOSSILIZED = 5
    PRUNED = 6
    EMBARGOED = 7
    RESETTING = 8


LEGAL_TRANSITIONS: Mapping[SeedStage, frozenset[SeedStage]] = {
    SeedStage.DORMANT: frozenset({SeedStage.GERMINATED}),
    SeedStage.GERMINATED: frozenset({SeedStage.TRAINING, SeedStage.PRUNED}),
    SeedStage.TRAINING: frozenset({SeedStage.BLENDING, SeedStage.PRUNED}),
    SeedStage.BLENDING: frozenset({SeedStage.HOLDING, SeedStage.PRUNED}),
    # Retargeting alpha sends a held seed back to blending.
    SeedStage.HOLDING: frozenset({SeedStage.FOSSILIZED, SeedStage.BLENDING, SeedStage.PRUNED}),
    SeedStage.FOSSILIZED: frozenset(),
    SeedStage.PRUNED: frozenset({SeedStage.EMBARGOED}),
    SeedStage.EMBARGOED: frozenset({SeedStage.RESETTING}),
    SeedStage.RESETTING: frozenset({SeedStage.DORMANT}),
}

NEXT_STAGE: Mapping[SeedStage, SeedStage] = {
    SeedStage.GERMINATED: SeedStage.TRAINING,
    SeedStage.TRAINING: SeedStage.BLENDING,
    SeedStage.BLENDING: SeedStage.HOLDING,
    SeedStage.HOLDING: SeedStage.FOSSILIZED,
}
"""The stage a healthy seed moves to; stages without an entry can't be advanced."""

LIVE_STAGES = frozenset(
    {
        SeedStage.GERMINATED,
        SeedStage.TRAINING,
        SeedStage.BLENDING,
        SeedStage.HOLDING,
        SeedStage.FOSSILIZED,
    }
)
"""A module sits in the slot."""

PRUNABLE_STAGES = LIVE_STAGES - {SeedStage.FOSSILIZED}
"""A module sits in the slot and may still be taken out."""

CONTRIBUTING_STAGES = frozenset({SeedStage.BLENDING, SeedStage.HOLDING, SeedStage.FOSSILIZED})
"""The module changes what the host computes."""


def is_legal_transition(source: SeedStage, target: SeedStage) -> bool:
    """Return True if a slot may move from `source` to `target`."""
    return target in LEGAL_TRANSITIONS[source]


Topology = Literal["cnn", "transformer"]
"""What passes the slots: maps [batch, channels, height, width] or tokens [batch, tokens, channels]."""


@dataclass(frozen=True, slots=True)
class SlotConfig:
    """Slot names `r<row>c<column>`, ordered; the position is the index of the slot head."""

    slot_ids: tuple[str, ...] = ("r0c0", "r0c1", "r0c2")
    topology: Topology = "cnn"

    def __post_init__(self) -> None:
        if not self.slot_ids:
            raise ValueError("a SlotConfig needs at least one slot")
        if len(set(self.slot_ids)) != len(self.slot_ids):
            raise ValueError(f"slot names repeat: {', '.join(self.slot_ids)}")

    @property
    def num_slots(self) -> int:
        """How many slots there are."""
        return len(self.slot_ids)

    def index_of(self, slot_id: str) -> int:
        """Index of `slot_id` in the slot head; ValueError if there is no such slot."""
        try:
            return self.slot_ids.index(slot_id)
        except ValueError:
            raise ValueError(f"no slot {slot_id!r}; the host has {', '.join(self.slot_ids)}") from None

    def require(self, slot_ids: Iterable[str]) -> tuple[str, ...]:
        """`slot_ids` in this configuration's order; ValueError for one that is not in it or that repeats."""
        wanted = tuple(slot_ids)
        for position, slot_id in enumerate(wanted):
            if slot_id in wanted[:position]:
                raise ValueError(f"{slot_id} is given twice")
        for slot_id in wanted:
            self.index_of(slot_id)
        return tuple(slot_id for slot_id in self.slot_ids if slot_id in wanted)


@dataclass(frozen=True, slots=True)
class TrainingSignals:
    """One environment's training state after an epoch; accuracies are fractions, deltas per epoch."""

    epoch: int
    max_epochs: int
    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    loss_delta: float
    accuracy_delta: float
    best_val_accuracy: float
    epochs_since_improvement: int
    loss_history: tuple[float, ...]
    accuracy_history: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SeedStateReport:
    """One occupied or cooling slot; a dormant slot has no report.

    `contribution` is validation accuracy with the seed minus without it (fractions), None until measured;
    `contribution_age` counts epochs since that measurement. `leaving`: a prune waits for alpha to reach zero.
    """

    slot_id: str
    seed_id: str
    blueprint: str
    stage: SeedStage
    previous_stage: SeedStage
    epochs_in_stage: int
    epochs_total: int
    alpha: float
    alpha_target: float
    alpha_mode: AlphaMode
    alpha_curve: AlphaCurve
    alpha_steepness: float
    alpha_steps_done: int
    alpha_steps_total: int
    blend_mode: BlendMode
    tempo_epochs: int
    seed_parameters: int
    contribution: float | None
    previous_contribution: float | None
    contribution_age: int
    accuracy_at_germination: float
    leaving: bool
    prune_reason: str | None
