"""Running statistics against the statistics of everything at once."""

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esper.simic.control import RewardNormalizer, RunningMeanStd


def rows(count: int, seed: int = 0) -> torch.Tensor:
    return 3.0 + 2.0 * torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))


def test_batches_merge_to_the_statistics_of_the_whole() -> None:
    running, data = RunningMeanStd(4), rows(60)
    for part in data.split([1, 9, 20, 30]):
        running.update(part)
    running.update(data[:0])
    normalised = running.normalize(data)
    torch.testing.assert_close(normalised.mean(dim=0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(normalised.var(dim=0, correction=0), torch.ones(4), atol=1e-4, rtol=0)


def test_a_feature_that_never_changed_does_not_explode() -> None:
    running = RunningMeanStd(1)
    running.update(torch.full((5, 1), 2.0))
    assert running.normalize(torch.tensor([[2.5]])).tolist() == [[0.5]]


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_rewards_are_divided_by_their_standard_deviation(rewards: list[float]) -> None:
    normalizer = RewardNormalizer(clip=1e9)
    normalizer.update(rewards)
    std = max(statistics.stdev(rewards), 1e-2)
    assert normalizer.normalize(3.0) == pytest.approx(3.0 / std, rel=1e-6)
    assert normalizer.normalize(0.0) == 0.0


def test_rewards_are_clipped_and_pass_unchanged_before_two_were_seen() -> None:
    normalizer = RewardNormalizer(clip=2.0)
    normalizer.update([5.0])
    assert normalizer.normalize(1.5) == 1.5
    assert normalizer.normalize(-7.0) == -2.0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_reward_that_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="a reward must be finite"):
        RewardNormalizer().update([0.0, bad])
