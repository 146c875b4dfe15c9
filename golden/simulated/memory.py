"""Bytes of the live storages of a simulated device, and the lines that hold them at the peak."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from .syncs import SYNCS, Place, title

# What the CUDA caching allocator rounds sizes to.
BLOCK = 512
_LINES = 12


class Memory:
    """The live bytes of one device."""

    def __init__(self) -> None:
        self.live = self.peak = self.peak_since = 0
        self.by_place: Counter[Place] = Counter()
        self.at_peak: dict[Place, int] = {}
        self.peak_step = 0
        self._rising = False

    def add(self, size: int, where: Place) -> None:
        """Count a new storage."""
        self.live += size
        self.by_place[where] += size
        if self.live > self.peak_since:
            self.peak_since = self.live
            if self.live > self.peak:
                self.peak, self.peak_step, self._rising = self.live, SYNCS.steps, True

    def remove(self, size: int, where: Place) -> None:
        """Count a storage that is freed; who held the peak is looked at just before the first."""
        if self._rising:
            self.look()
        self.live -= size
        self.by_place[where] -= size

    def look(self) -> None:
        """Keep who holds the peak, if it is now."""
        if self._rising and self.live == self.peak:
            self.at_peak = {where: size for where, size in self.by_place.items() if size}
        self._rising = False

    def row(self, device: str) -> dict[str, Any]:
        """The peak, when it was, and the lines that made what was live then."""
        self.look()
        held = Counter[str]()
        for where, size in self.at_peak.items():
            held[title(where)] += size
        lines = [{"place": name, "bytes": size} for name, size in held.most_common(_LINES)]
        return {"device": device, "bytes": self.peak, "step": self.peak_step, "held": lines}


# The memory of each device that is used.
MEMORY: defaultdict[int, Memory] = defaultdict(Memory)
