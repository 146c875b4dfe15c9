"""Learning: advantages, what the update touches, and when it stops."""

import pytest
import torch

from esper.leyline import HEAD_INDEX, LifecycleOp
from esper.simic.agent import PPOAgent, PPOConfig, PPOUpdateResult, RolloutBuffer
from esper.simic.agent.ppo import advantages_and_returns
from tests.esper.simic.agent.helpers import SLOTS, SMALL, Rollout, play


def weights(agent: PPOAgent) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in agent.policy.parameters()])


def learn(agent: PPOAgent, rollout: Rollout) -> PPOUpdateResult:
    return agent.update(rollout.buffer, agent.bootstrap_values(rollout.features, rollout.hidden))


def estimate(gae_lambda: float, dones: list[float] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    return advantages_and_returns(
        torch.tensor([[1.0, 2.0, 3.0]]),
        torch.tensor([[0.5, 0.5, 0.5]]),
        torch.tensor([dones or [0.0, 0.0, 0.0]]),
        torch.tensor([4.0]),
        discount=0.5,
        gae_lambda=gae_lambda,
    )


def test_with_lambda_one_returns_are_the_discounted_sums_with_the_bootstrap_at_the_end() -> None:
    _, returns = estimate(1.0)
    torch.testing.assert_close(returns, torch.tensor([[1 + 1 + 0.75 + 0.5, 2 + 1.5 + 1.0, 3 + 2.0]]))


def test_with_lambda_zero_advantages_are_one_step_errors() -> None:
    advantages, _ = estimate(0.0)
    torch.testing.assert_close(advantages, torch.tensor([[0.75, 1.75, 4.5]]))


def test_nothing_follows_a_true_end() -> None:
    _, returns = estimate(1.0, [0.0, 1.0, 0.0])
    torch.testing.assert_close(returns, torch.tensor([[2.0, 2.0, 5.0]]))


def test_environments_are_estimated_apart() -> None:
    rewards, zeros = torch.tensor([[1.0, 1.0], [7.0, 7.0]]), torch.zeros(2, 2)
    both, _ = advantages_and_returns(rewards, zeros, zeros, torch.zeros(2), discount=0.9, gae_lambda=0.9)
    one, _ = advantages_and_returns(
        rewards[:1], zeros[:1], zeros[:1], torch.zeros(1), discount=0.9, gae_lambda=0.9
    )
    assert torch.equal(both[:1], one)


def test_an_update_repeats_bit_for_bit() -> None:
    first, second = PPOAgent(SLOTS, SMALL, seed=1), PPOAgent(SLOTS, SMALL, seed=1)
    results = [learn(agent, play(agent, 3, 5)) for agent in (first, second)]
    assert results[0] == results[1]
    assert torch.equal(weights(first), weights(second))


def test_heads_that_an_operation_did_not_read_learn_nothing_from_it() -> None:
    agent = PPOAgent(SLOTS, PPOConfig(hidden_size=16, epochs=1, entropy_coef=0.0), seed=0)
    rollout = play(agent, 2, 4)
    rollout.buffer.actions[..., HEAD_INDEX["op"]] = LifecycleOp.WAIT
    before = agent.policy.heads.bias.detach().clone()
    learn(agent, rollout)
    sizes = agent.policy.heads.bias.shape[0]
    changed = (agent.policy.heads.bias != before).nonzero().flatten().tolist()
    assert changed
    assert min(changed) >= sizes - len(LifecycleOp)


def test_the_policy_stops_where_it_has_moved_far_enough() -> None:
    agent = PPOAgent(SLOTS, PPOConfig(hidden_size=16, epochs=50, learning_rate=0.1, target_kl=0.01), seed=0)
    result = learn(agent, play(agent, 3, 6))
    assert result.stopped_early
    assert 1 <= result.epochs < 50
    assert result.skipped is None


def test_an_update_that_is_not_finite_is_refused_and_leaves_the_policy_as_it_was() -> None:
    agent = PPOAgent(SLOTS, SMALL, seed=0)
    rollout = play(agent, 2, 4)
    rollout.buffer.set_rewards(1, [float("nan"), 0.0])
    before = weights(agent)
    result = learn(agent, rollout)
    assert result.skipped == "loss or gradient not finite in epoch 0"
    assert (result.epochs, result.metrics) == (0, {})
    assert torch.equal(weights(agent), before)


def test_observations_are_taken_into_the_statistics_after_the_update() -> None:
    agent = PPOAgent(SLOTS, SMALL, seed=0)
    rollout = play(agent, 2, 4)
    assert agent.observations.count == 0
    learn(agent, rollout)
    assert agent.observations.count == 8


def test_a_rollout_with_a_hole_is_refused() -> None:
    agent = PPOAgent(SLOTS, SMALL, seed=0)
    with pytest.raises(ValueError, match="step 0 of the rollout has no actions"):
        agent.update(RolloutBuffer(1, 2, SLOTS), torch.zeros(1))


def test_an_epoch_takes_a_step_for_each_minibatch_and_envs_stay_whole() -> None:
    steps = []
    for envs, minibatches in ((1, 4), (6, 4), (6, 6)):
        config = PPOConfig(hidden_size=16, epochs=2, minibatches=minibatches, target_kl=1e9)
        agent = PPOAgent(SLOTS, config, seed=0)
        result = learn(agent, play(agent, envs, 3))
        assert (result.epochs, result.stopped_early) == (2, False)
        steps.append(int(agent.optimizer.state_dict()["state"][0]["step"]))
    assert steps == [2, 8, 12]


def test_the_units_of_rewards_do_not_matter_from_round_to_round() -> None:
    """The rewards of a run come in other units once their statistics are known."""
    learnt = []
    for unit in (1.0, 32.0):
        agent = PPOAgent(SLOTS, SMALL, seed=0)
        losses = []
        for number in range(3):
            rollout = play(agent, 4, 6, seed=number)
            for step, made in enumerate(rollout.actions):
                paid = [float(action.lifecycle_op is LifecycleOp.GERMINATE) + 5.0 for action in made]
                rollout.buffer.set_rewards(step, [reward * (unit if number else 1.0) for reward in paid])
            losses.append(agent.update(rollout.buffer, torch.zeros(4)).metrics["value_loss"])
        assert losses[1] < 2 * losses[0]
        learnt.append(weights(agent))
    torch.testing.assert_close(learnt[0], learnt[1], rtol=1e-3, atol=1e-5)
