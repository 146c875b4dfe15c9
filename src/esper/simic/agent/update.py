"""One PPO update: the loss with clipping per head, and the loop over epochs with its two gates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from esper.simic.agent.config import PPOConfig
from esper.tamiyo import FactoredRecurrentActorCritic, evaluate_actions


@dataclass(frozen=True, slots=True)
class PPOUpdateResult:
    """Optimizer steps taken (`epochs`), and means of the metrics over them.

    `skipped` tells why a step was refused; `stopped_early` that the policy moved as far as it may.
    """

    skipped: str | None
    epochs: int
    stopped_early: bool
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RolloutTensors:
    """A rollout as the loss reads it, all [environments, steps, ...]; features normalised."""

    features: Tensor
    masks: Mapping[str, Tensor]
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor


MIN_RETURN_VARIANCE = 1e-2

METRICS = (
    "policy_loss",
    "value_loss",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "explained_variance",
    "grad_norm",
)


def ppo_loss(
    policy: FactoredRecurrentActorCritic,
    rollout: RolloutTensors,
    config: PPOConfig,
    entropy_coef: float,
) -> tuple[Tensor, list[Tensor]]:
    """The loss, and detached scalars in the order of METRICS but the last.

    Every head has its own ratio and clipping; heads that the operation did not read have no part in it.
    """
    output = policy(rollout.features, policy.initial_hidden(rollout.features.shape[0]))
    evaluation = evaluate_actions(output.logits, rollout.masks, rollout.actions)
    log_ratio = (evaluation.log_probs - rollout.log_probs) * evaluation.relevant
    ratio = log_ratio.exp()
    advantages = rollout.advantages[..., None]
    clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
    gain = torch.minimum(ratio * advantages, clipped * advantages) * evaluation.relevant
    policy_loss = -gain.sum(dim=-1).mean()
    # In units of the returns' spread: their size must not drown the policy in the trunk that both share.
    spread = rollout.returns.var(correction=0).clamp_min(MIN_RETURN_VARIANCE)
    unexplained = (rollout.returns - output.values).square().mean()
    value_loss = 0.5 * unexplained / spread
    entropy = (evaluation.entropies * evaluation.relevant).sum(dim=-1).mean()
    loss = policy_loss + config.value_coef * value_loss - entropy_coef * entropy
    with torch.no_grad():
        # Schulman's low-variance estimate, http://joschu.net/blog/kl-approx.html
        kl = ((ratio - 1.0 - log_ratio) * evaluation.relevant).sum(dim=-1).mean()
        outside = ((ratio - 1.0).abs() > config.clip).to(ratio.dtype) * evaluation.relevant
        clip_fraction = outside.sum() / evaluation.relevant.sum().clamp_min(1.0)
        explained = 1.0 - (rollout.returns - output.values).var(correction=0) / spread
    return loss, [
        policy_loss.detach(),
        value_loss.detach(),
        entropy.detach(),
        kl,
        clip_fraction,
        explained,
    ]


LossFunction = Callable[
    [FactoredRecurrentActorCritic, RolloutTensors, PPOConfig, float], tuple[Tensor, list[Tensor]]
]


def run_update(
    policy: FactoredRecurrentActorCritic,
    optimizer: Optimizer,
    rollout: RolloutTensors,
    config: PPOConfig,
    entropy_coef: float,
    loss_function: LossFunction = ppo_loss,
) -> PPOUpdateResult:
    """Up to `config.epochs` steps on the whole rollout; one read from the device per epoch.

    Stops before a step when the policy has moved further than the target KL allows, or if a loss or gradient
    is not finite; gradients of the last epoch stay on the parameters.
    """
    parameters = list(policy.parameters())
    history: list[list[float]] = []
    reason, stopped_early = None, False
    for epoch in range(config.epochs):
        optimizer.zero_grad(set_to_none=True)
        loss, scalars = loss_function(policy, rollout, config, entropy_coef)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, config.max_grad_norm)
        row = torch.stack([*scalars, norm, loss.detach()]).tolist()
        if not all(math.isfinite(value) for value in row):
            reason = f"loss or gradient not finite in epoch {epoch}"
            break
        if epoch > 0 and row[METRICS.index("approx_kl")] > config.target_kl:
            stopped_early = True
            break
        optimizer.step()
        history.append(row[: len(METRICS)])
    steps = len(history)
    means = {name: math.fsum(row[i] for row in history) / steps for i, name in enumerate(METRICS) if steps}
    return PPOUpdateResult(reason, steps, stopped_early, means)
