"""The stages of a seed's life and the legal moves between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


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
    """Whether a slot may move from `source` to `target`."""
    return target in LEGAL_TRANSITIONS[source]
