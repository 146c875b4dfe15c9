"""Running mean and variance, for observations (tensors) and rewards (numbers)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-8
OBSERVATION_CLIP = 10.0
MIN_REWARD_STD = 1e-2


class RunningMeanStd:
    """Mean and variance per feature over all rows seen, merged batch by batch.

    Chan, Golub, LeVeque (1983), parallel variance; float64.
    """

    def __init__(self, size: int, device: torch.device | str = "cpu") -> None:
        self.count = torch.zeros((), dtype=torch.float64, device=device)
        self.mean = torch.zeros(size, dtype=torch.float64, device=device)
        self.squares = torch.zeros(size, dtype=torch.float64, device=device)

    def update(self, rows: Tensor) -> None:
        """Take in rows [rows, features]."""
        if rows.shape[0] == 0:
            return
        batch = rows.to(torch.float64)
        batch_mean = batch.mean(dim=0)
        shift = batch_mean - self.mean
        total = self.count + batch.shape[0]
        self.squares += ((batch - batch_mean) ** 2).sum(dim=0) + shift**2 * (
            self.count * batch.shape[0] / total
        )
        self.mean += shift * (batch.shape[0] / total)
        self.count = total

    def normalize(self, rows: Tensor) -> Tensor:
        """Rows [..., features] with mean 0 and variance 1, clipped; only clipped until something was seen."""
        seen = self.count > 0
        variance = torch.where(seen, self.squares / self.count.clamp_min(1.0), torch.ones_like(self.squares))
        # A feature that never changed says nothing, and must not explode when it first does.
        scale = torch.where(variance > EPSILON, torch.rsqrt(variance.clamp_min(EPSILON)), 1.0)
        normalised = (rows - self.mean.to(rows.dtype)) * scale.to(rows.dtype)
        return normalised.clamp(-OBSERVATION_CLIP, OBSERVATION_CLIP)

    def state_dict(self) -> dict[str, Tensor]:
        """The statistics, to be saved."""
        return {"count": self.count.clone(), "mean": self.mean.clone(), "squares": self.squares.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over saved statistics; KeyError or ValueError where they don't fit."""
        if state["mean"].shape != self.mean.shape or state["squares"].shape != self.squares.shape:
            raise ValueError(f"statistics of {state['mean'].numel()} features, not {self.mean.numel()}")
        self.count = state["count"].to(self.count)
        self.mean = state["mean"].to(self.mean)
        self.squares = state["squares"].to(self.squares)


class RewardNormalizer:
    """Divides rewards by their running standard deviation; the mean stays, so that signs do."""

    def __init__(self, clip: float = 10.0) -> None:
        self._clip = clip
        self._count = 0
        self._mean = 0.0
        self._squares = 0.0

    def update(self, rewards: Sequence[float]) -> None:
        """Take in rewards (Welford, 1962); ValueError for one that is not finite."""
        for reward in rewards:
            if not math.isfinite(reward):
                raise ValueError(f"a reward must be finite, not {reward}")
            self._count += 1
            shift = reward - self._mean
            self._mean += shift / self._count
            self._squares += shift * (reward - self._mean)

    def normalize(self, reward: float) -> float:
        """The reward in running standard deviations, clipped; as it is before two were seen."""
        std = math.sqrt(self._squares / (self._count - 1)) if self._count > 1 else 1.0
        return max(-self._clip, min(self._clip, reward / max(std, MIN_REWARD_STD)))

    def state_dict(self) -> dict[str, Any]:
        """The statistics, to be saved."""
        return {"count": self._count, "mean": self._mean, "squares": self._squares}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over saved statistics."""
        self._count = int(state["count"])
        self._mean = float(state["mean"])
        self._squares = float(state["squares"])
