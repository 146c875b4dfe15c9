"""Which slot an action means, and the next stage of the seed in it."""

from __future__ import annotations

from collections.abc import Sequence

from esper.kasmina import MorphogeneticModel
from esper.leyline import SeedStage, SlotConfig


def advance_active_seed(model: MorphogeneticModel, slot_id: str) -> bool:
    """Move the seed of a slot to its next stage, where it has one and may; whether it moved."""
    report = model.slot_reports().get(slot_id)
    if report is None or report.stage is SeedStage.FOSSILIZED:
        return False
    return model.slot(slot_id).advance()


def resolve_target_slot(
    slot_index: int, slot_config: SlotConfig, enabled_slots: Sequence[str]
) -> tuple[str, bool]:
    """The slot of an index of the slot head, and whether seeds may grow in it."""
    slot_id = slot_config.slot_ids[slot_index]
    return slot_id, slot_id in enabled_slots
