"""What the policy did in a round, and what its update came to."""

from collections.abc import Mapping
from dataclasses import dataclass

from esper.leyline.telemetry.marks import Unstable


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGradientHealth:
    """Gradient norms of the policy's layers after one update."""

    layers: int
    norm_min: float
    norm_mean: float
    norm_max: float
    vanishing: int
    exploding: int
    nonfinite: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskHitRates:
    """By action head: decisions in which the mask took at least one choice away, and all decisions."""

    hits: Mapping[str, int]
    total: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDistribution:
    """How often each operation was chosen in a round, and how often it succeeded."""

    counts: Mapping[str, int]
    successes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSummary:
    """Raw rewards of a round: mean, spread, and the mean of each component."""

    mean: float
    std: float
    minimum: float
    maximum: float
    components: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOUpdateCompleted:
    """Means over one policy update. `grad_norm` is before clipping; `skipped` is why nothing was
    learnt, if so.
    """

    skipped: str | None
    stopped_early: bool
    epochs: int
    metrics: Mapping[str, float]
    entropy_coef: float
    grad_norm_surrogate: float | None
    duration_s: Unstable[float]
