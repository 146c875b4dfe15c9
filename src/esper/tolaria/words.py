"""Random integers that are the same on every machine."""

from __future__ import annotations

import math

import numpy as np


class Words:
    """Integers from the raw words of a PCG64 bit generator, whose stream numpy guarantees."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def below(self, bound: int, *shape: int) -> np.ndarray:
        """Integers in [0, bound), bound at most 2**16, of a shape; four of every word."""
        count = math.prod(shape)
        raw = self._bits.random_raw((count + 3) // 4)
        quarters = np.stack([(raw >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)], 1)
        return ((quarters.reshape(-1)[:count].astype(np.int64) * bound) >> 16).reshape(shape)
