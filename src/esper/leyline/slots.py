"""The slots of a host, in the order in which data passes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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
