"""Short rollouts in a made-up environment that pays for one operation."""

from dataclasses import dataclass

import torch
from torch import Tensor

from esper.leyline import FactoredAction, LifecycleOp, SlotConfig
from esper.simic.agent import PPOAgent, PPOConfig, RolloutBuffer
from esper.tamiyo import (
    ActionMasks,
    Hidden,
    batch_obs_to_features,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)
from tests.esper.tamiyo.helpers import signals

SLOTS = SlotConfig()
SMALL = PPOConfig(hidden_size=16, epochs=3)
FREE: ActionMasks = compute_action_masks(build_slot_states({}, SLOTS), slot_config=SLOTS)


@dataclass(frozen=True)
class Rollout:
    """What one round left behind."""

    buffer: RolloutBuffer
    features: Tensor
    hidden: Hidden
    actions: list[list[FactoredAction]]
    log_probs: list[list[list[float]]]
    values: list[list[float]]


def generators(envs: int, seed: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(1000 * seed + env) for env in range(envs)]


def play(agent: PPOAgent, envs: int, steps: int, *, seed: int = 0) -> Rollout:
    """Environment `i` is a little better than `i - 1`; germinating pays 1."""
    buffer, hidden, drawn = (
        RolloutBuffer(envs, steps, SLOTS),
        agent.initial_hidden(envs),
        generators(envs, seed),
    )
    actions, log_probs, values = [], [], []
    for step in range(steps):
        seen = [signals(*[0.1 + 0.01 * env + 0.02 * i for i in range(step + 1)]) for env in range(envs)]
        features = batch_obs_to_features(seen, [{}] * envs, SLOTS, host_params=6000)
        masks = stack_action_masks([FREE] * envs)
        batch = agent.get_action(features, masks, hidden, agent.draw_noise(drawn))
        buffer.add(step, features, masks, batch)
        hidden, host = batch.hidden, batch.to_host()
        buffer.set_rewards(step, [float(a.lifecycle_op is LifecycleOp.GERMINATE) for a in host.actions])
        actions.append(host.actions)
        log_probs.append(host.log_probs)
        values.append(host.values)
    return Rollout(buffer, features, hidden, actions, log_probs, values)
