"""How alpha moves from where it is to its target, one step per epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from esper.leyline import DEFAULT_CURVE_STEEPNESS, AlphaCurve, AlphaMode


@dataclass(slots=True)
class AlphaSchedule:
    """Alpha's way from `start` to `target` in `steps_total` steps; 0 steps: it is there already."""

    start: float
    target: float
    steps_total: int
    curve: AlphaCurve = AlphaCurve.LINEAR
    steepness: float = DEFAULT_CURVE_STEEPNESS
    steps_done: int = 0

    def __post_init__(self) -> None:
        if not (0.0 <= self.start <= 1.0 and 0.0 <= self.target <= 1.0):
            raise ValueError(f"alpha goes from 0 to 1, not from {self.start} to {self.target}")
        if self.steps_total < 0:
            raise ValueError(f"a schedule can't have {self.steps_total} steps")

    @property
    def done(self) -> bool:
        """Whether the target is reached."""
        return self.steps_done >= self.steps_total

    @property
    def mode(self) -> AlphaMode:
        """Which way alpha is moving."""
        if self.done:
            return AlphaMode.HOLD
        return AlphaMode.UP if self.target > self.start else AlphaMode.DOWN

    @property
    def alpha(self) -> float:
        """Alpha after the steps done so far."""
        if self.done:
            return self.target
        share = curve_value(self.curve, self.steps_done / self.steps_total, self.steepness)
        return self.start + (self.target - self.start) * share

    def tick(self) -> None:
        """Take one step, if any is left."""
        if not self.done:
            self.steps_done += 1


def curve_value(curve: AlphaCurve, t: float, steepness: float = DEFAULT_CURVE_STEEPNESS) -> float:
    """Share of the way at time `t`, both in [0, 1]; every curve starts at exactly 0 and ends at exactly 1."""
    if t <= 0.0 or t >= 1.0:
        return 0.0 if t <= 0.0 else 1.0
    match curve:
        case AlphaCurve.LINEAR:
            return t
        case AlphaCurve.COSINE:
            return 0.5 * (1.0 - math.cos(math.pi * t))
        case AlphaCurve.SIGMOID:
            low = _logistic(-steepness / 2)
            return (_logistic(steepness * (t - 0.5)) - low) / (1.0 - 2.0 * low)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
