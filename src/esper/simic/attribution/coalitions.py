"""Which of a host's seeds are switched on: the configurations that validation compares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

Coalition = frozenset[str]
"""The slots whose seed is switched on."""


def epoch_coalitions(slots: Sequence[str]) -> tuple[Coalition, ...]:
    """What an epoch compares: all seeds, each one off, each two off, all off; all come first.

    Enough for every contribution and every interaction of two. With up to three seeds these are all
    subsets.
    """
    off = [chosen for size in (0, 1, 2, len(slots)) for chosen in combinations(slots, size)]
    everyone = frozenset(slots)
    return tuple(dict.fromkeys(everyone.difference(chosen) for chosen in off))


def alpha_overrides(coalitions: Iterable[Coalition], slots: Sequence[str]) -> list[dict[str, float]]:
    """For every coalition the slots to switch off, as `MorphogeneticModel.fused_forward` takes them."""
    return [{slot: 0.0 for slot in slots if slot not in coalition} for coalition in coalitions]


def coalition_name(coalition: Coalition, slots: Sequence[str]) -> str:
    """The slots switched on, in the host's order, joined by `+`; `none` for none."""
    return "+".join(slot for slot in slots if slot in coalition) or "none"


def most_coalitions(num_slots: int, orders: int) -> int:
    """The most configurations of any epoch of a host: an epoch's, and those of the last epoch's orders."""
    everyone = 2**num_slots
    pairs = num_slots * (num_slots - 1) // 2
    return min(everyone, 2 + num_slots + pairs + orders * max(0, num_slots - 1))
