"""Acting: the same seed gives the same decisions, whoever else is there."""

import pytest
import torch

from esper.leyline import HEAD_NAMES, LifecycleOp
from esper.simic.agent import PPOAgent, PPOConfig
from esper.tamiyo import feature_size, stack_action_masks
from tests.esper.simic.agent.helpers import FREE, SLOTS, SMALL, generators, play


def test_the_first_environment_decides_the_same_alone_and_among_others() -> None:
    alone, among, crowd = (play(PPOAgent(SLOTS, SMALL, seed=3), envs, 4) for envs in (1, 3, 20))
    for other in (among, crowd):
        for step in range(4):
            assert alone.actions[step][0] == other.actions[step][0]
            assert alone.log_probs[step][0] == other.log_probs[step][0]
            assert alone.values[step][0] == other.values[step][0]


def test_seeds_decide_and_nothing_else_does() -> None:
    torch.manual_seed(1)
    first = play(PPOAgent(SLOTS, SMALL, seed=3), 2, 4)
    torch.manual_seed(2)
    second = play(PPOAgent(SLOTS, SMALL, seed=3), 2, 4)
    other = play(PPOAgent(SLOTS, SMALL, seed=3), 2, 4, seed=1)
    assert first.log_probs == second.log_probs
    assert first.actions != other.actions


def test_the_most_likely_action_draws_no_random_number() -> None:
    agent = PPOAgent(SLOTS, SMALL, seed=0)
    features = torch.zeros(2, feature_size(SLOTS))
    before = torch.get_rng_state()
    first, second = (
        agent.get_action(features, stack_action_masks([FREE] * 2), agent.initial_hidden(2)) for _ in range(2)
    )
    assert torch.equal(before, torch.get_rng_state())
    assert first.to_host() == second.to_host()


def test_the_answer_on_the_host_is_the_answer_on_the_device() -> None:
    agent = PPOAgent(SLOTS, SMALL, seed=0)
    noise = agent.draw_noise(generators(3))
    batch = agent.get_action(
        torch.zeros(3, feature_size(SLOTS)), stack_action_masks([FREE] * 3), agent.initial_hidden(3), noise
    )
    host = batch.to_host()
    assert [
        [getattr(action, name) for name in HEAD_NAMES] for action in host.actions
    ] == batch.actions.tolist()
    assert host.log_probs == batch.log_probs.tolist()
    assert host.confidences == batch.confidences.tolist()
    assert host.values == batch.values.tolist()


@pytest.mark.parametrize(
    "settings",
    [{"epochs": 0}, {"hidden_size": 1}, {"discount": 0.0}, {"discount": 1.1}, {"gae_lambda": -0.1}],
)
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        PPOConfig(**settings)


def test_learning_makes_what_pays_more_likely() -> None:
    agent = PPOAgent(SLOTS, PPOConfig(hidden_size=16, learning_rate=5e-3), seed=0)
    shares = []
    for round_number in range(12):
        rollout = play(agent, 4, 6, seed=round_number)
        flat = [action.lifecycle_op for step in rollout.actions for action in step]
        shares.append(flat.count(LifecycleOp.GERMINATE) / len(flat))
        result = agent.update(rollout.buffer, agent.bootstrap_values(rollout.features, rollout.hidden))
        assert result.skipped is None
    assert shares[0] < 0.7 < 0.9 < shares[-1]
