"""The agent: the same seed gives the same decisions; what an update touches, and when it stops; settings."""

from typing import Any

import pytest
import torch

from esper.leyline import HEAD_INDEX, HEAD_NAMES, LifecycleOp
from esper.leyline.errors import InputError
from esper.simic.agent import PPOAgent, PPOConfig, PPOUpdateResult
from esper.simic.agent.ppo import advantages_and_returns
from esper.simic.training.config import TrainingConfig, parse_config
from esper.tamiyo import feature_size, stack_action_masks
from tests.esper.simic.agent.helpers import FREE, SLOTS, SMALL, Rollout, generators, play
from tests.esper.simic.conftest import Run, of_type


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


CHANGED: dict[str, Any] = {
    "learning_rate": 3e-4,
    "clip": 0.1,
    "discount": 0.9,
    "gae_lambda": 0.8,
    "target_kl": 0.02,
    "hidden_size": 32,
    "max_grad_norm": 1.5,
    "ppo_epochs": 2,
    "minibatches": 1,
    "value_coef": 0.25,
    "entropy_start": 0.02,
}
FIELDS = {"ppo_epochs": "epochs", "entropy_start": "entropy_coef"}


def test_the_defaults_are_those_of_the_agent() -> None:
    assert TrainingConfig().ppo_config() == PPOConfig()


def test_every_setting_of_the_agent_has_a_key() -> None:
    keys = {FIELDS.get(name, name) for name in CHANGED}
    assert keys == set(PPOConfig.__dataclass_fields__)


# The frozen single-file trainer is older than these settings.
@pytest.mark.parametrize("trainer", ["esper.simic.training.vectorized"], indirect=True)
def test_settings_reach_the_agent_and_the_events(run: Run) -> None:
    events, result = run(episode_length=2, **CHANGED)
    [started] = of_type(events, "RUN_STARTED")
    for name, value in CHANGED.items():
        assert getattr(result.agent.config, FIELDS.get(name, name)) == value
        assert started["data"]["config"][name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("learning_rate", 0.0), ("clip", 0.0), ("discount", 1.5), ("gae_lambda", -0.1), ("target_kl", 0.0)),
        *(("hidden_size", 1), ("max_grad_norm", 0.0), ("ppo_epochs", 0), ("minibatches", 0)),
    ],
)
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} {value}"):
        parse_config(TrainingConfig(), {name: value})
