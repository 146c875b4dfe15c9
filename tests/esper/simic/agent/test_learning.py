"""Learning: small problems with a known best policy, solved in seconds."""

import pytest

from benchmarks.agent import OperationLearner, trained
from benchmarks.toys import CONTEXTS, TOYS, right_contexts, score
from esper.simic.agent import PPOConfig

SMALL = PPOConfig(hidden_size=64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("toy", "rounds", "least"), [("bandit", 30, 12.0), ("late", 100, 7.0), ("memory", 120, 0.9)]
)
def test_the_agent_learns(toy: str, rounds: int, least: float) -> None:
    learner = trained(OperationLearner(0, SMALL), TOYS[toy], seed=0, rounds=rounds)
    assert score(learner, TOYS[toy], seed=99) >= least


@pytest.mark.slow
def test_the_agent_learns_what_each_context_asks_for() -> None:
    # Other kernels compute other bits, which is another seed for the agent: one seed alone is no measure.
    seeds = range(4)
    right = [
        right_contexts(trained(OperationLearner(seed, SMALL), TOYS["contextual"], seed=seed, rounds=150))
        for seed in seeds
    ]
    assert sum(right) >= (CONTEXTS - 2) * len(seeds)
