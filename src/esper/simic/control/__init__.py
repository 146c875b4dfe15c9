"""Running statistics that keep observations and rewards at unit size."""

from esper.simic.control.normalisers import RewardNormalizer, RunningMeanStd

__all__ = ["RewardNormalizer", "RunningMeanStd"]
